//! An order that ends unpaid: its state, the inventory, the ledger and the task to give its stock back, or nothing.

use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};
use sluice::model::{Millis, OrderId, User};

use super::entity::order::{Column, Entity, Model};
use super::entity::sale;
use super::orders::View;
use super::outbox::{self, Event, Task};
use super::stock::{self, Change};
use super::{ANSWER, Sql, WORK, int};
use crate::domain::ledger::Kind;
use crate::domain::order::{Reason, status};

/// What became of the wish to cancel an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// It is cancelled now.
    Cancelled(View),
    /// It is not to be paid any more, or not due yet; nothing was changed.
    Left(View),
    /// SQL has no such order of this user.
    Unknown,
}

impl Sql {
    /// Cancels an order that is to be paid: its owner's where `owner` is given.
    pub(crate) async fn cancel(
        &self,
        id: &OrderId,
        owner: Option<&User>,
        reason: Reason,
        now: Millis,
    ) -> Result<Closing, DbErr> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            let mut wanted = sea_orm::Condition::all().add(Column::Id.eq(id.as_str()));
            if let Some(owner) = owner {
                wanted = wanted.add(Column::UserId.eq(owner.as_str()));
            }
            if self.close(&tx, wanted.clone(), reason, now).await? {
                tx.commit().await?;
                let row = Entity::find_by_id(id.as_str()).one(&self.writer()).await?;
                return Ok(row.map_or(Closing::Unknown, |row| Closing::Cancelled(row.into())));
            }
            let row = Entity::find().filter(wanted).one(&tx).await?;
            Ok(row.map_or(Closing::Unknown, |row| Closing::Left(row.into())))
        })
        .await
    }

    /// pending_payment -> cancelled, inside a transaction. The row count of the update decides who it was that
    /// cancelled it, so its stock goes back once. `false` when it was not to be paid, or is not due.
    pub(super) async fn close(
        &self,
        tx: &impl ConnectionTrait,
        wanted: sea_orm::Condition,
        reason: Reason,
        now: Millis,
    ) -> Result<bool, DbErr> {
        let mut still = wanted.clone().add(Column::Status.eq(status::PENDING_PAYMENT));
        if reason == Reason::TimedOut {
            still = still.add(Column::PayBy.lte(int(now.0)));
        }
        let update = Entity::update_many()
            .col_expr(Column::Status, Expr::val(status::CANCELLED))
            .col_expr(Column::ClosedAt, Expr::val(Some(int(now.0))))
            .col_expr(Column::Reason, Expr::val(Some(reason.as_str())))
            .filter(still);
        if update.exec(tx).await?.rows_affected == 0 {
            return Ok(false);
        }
        let row = Entity::find().filter(wanted).one(tx).await?;
        let row: Model = row.ok_or_else(|| DbErr::RecordNotFound("a cancelled order".to_owned()))?;
        let rebuy = sale::Entity::find_by_id(row.sku.as_str()).one(tx).await?.is_none_or(|sale| sale.rebuy);
        if rebuy {
            let free = Entity::update_many().col_expr(Column::BuyerSlot, Expr::val(None::<String>));
            free.filter(Column::Id.eq(row.id.as_str())).exec(tx).await?;
        }
        let change = Change {
            sku: &row.sku,
            units: row.quantity.into(),
            kind: Kind::Cancel,
            about: &row.id,
            order: Some(&row.id),
            operator: reason.as_str(),
            remark: "",
        };
        stock::add(tx, &change, now).await?;
        let restore = Task::Restore {
            order: row.id.clone(),
            sku: row.sku.clone(),
            user: row.user_id.clone(),
            quantity: u32::try_from(row.quantity).unwrap_or(0),
            state: status::CANCELLED.to_owned(),
            keeps_buyer: !rebuy,
        };
        outbox::add(tx, &[restore], now).await?;
        let event = Event::about("order.cancelled", &row, None, Some(reason.as_str()));
        self.tell(tx, std::iter::once(event), now).await?;
        Ok(true)
    }

    /// Orders whose time to pay is over, the oldest first.
    pub(crate) async fn overdue(&self, now: Millis, most: u64) -> Result<Vec<String>, DbErr> {
        self.within(WORK, async {
            let select = Entity::find().select_only().column(Column::Id);
            select
                .filter(Column::Status.eq(status::PENDING_PAYMENT))
                .filter(Column::PayBy.lte(int(now.0)))
                .order_by_asc(Column::PayBy)
                .limit(most)
                .into_tuple()
                .all(&self.reader())
                .await
        })
        .await
    }
}
