//! `inventory_log`: the ledger.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "inventory_log")]
pub(crate) struct Model {
    #[sea_orm(primary_key)]
    pub(crate) id: i64,
    #[sea_orm(unique)]
    pub(crate) log_no: String,
    pub(crate) sku: String,
    pub(crate) warehouse: String,
    pub(crate) kind: String,
    /// The change: negative when stock is taken.
    pub(crate) quantity: i64,
    pub(crate) before_stock: i64,
    pub(crate) after_stock: i64,
    pub(crate) order_id: Option<String>,
    pub(crate) operator: String,
    pub(crate) remark: String,
    pub(crate) created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
