//! Stock that comes back to the inventory, with its row of the ledger.

use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ActiveValue::NotSet, ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _, QueryFilter as _,
};
use sluice::model::Millis;

use super::entity::{inventory, inventory_log};
use super::int;
use super::sales::WAREHOUSE;
use crate::domain::ledger::{self, Kind};

/// A change of stock.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) sku: &'a str,
    pub(super) units: i64,
    pub(super) kind: Kind,
    /// What its number ends in: the same change must always have the same number.
    pub(super) about: &'a str,
    pub(super) order: Option<&'a str>,
    pub(super) operator: &'a str,
    pub(super) remark: &'a str,
}

/// Adds units to the inventory and writes the ledger. The update locks the inventory's row, so the chain cannot be cut
/// in between. `false` when there is no such inventory.
pub(super) async fn add(tx: &impl ConnectionTrait, change: &Change<'_>, now: Millis) -> Result<bool, DbErr> {
    let update = inventory::Entity::update_many()
        .col_expr(inventory::Column::Stock, Expr::col(inventory::Column::Stock).add(change.units))
        .filter(inventory::Column::Sku.eq(change.sku));
    if update.exec(tx).await?.rows_affected == 0 {
        return Ok(false);
    }
    let after = inventory::Entity::find_by_id(change.sku).one(tx).await?.map_or(0, |row| row.stock);
    let row = inventory_log::ActiveModel {
        id: NotSet,
        log_no: Set(ledger::number(change.kind, now, change.about)),
        sku: Set(change.sku.to_owned()),
        warehouse: Set(WAREHOUSE.to_owned()),
        kind: Set(change.kind.as_str().to_owned()),
        quantity: Set(change.units),
        before_stock: Set(after.saturating_sub(change.units)),
        after_stock: Set(after),
        order_id: Set(change.order.map(str::to_owned)),
        operator: Set(change.operator.to_owned()),
        remark: Set(change.remark.to_owned()),
        created_at: Set(int(now.0)),
    };
    inventory_log::Entity::insert_many([row]).exec_without_returning(tx).await?;
    Ok(true)
}
