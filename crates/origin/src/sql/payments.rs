//! Payments: recorded once a number, and applied to an order that is to be paid.

use sea_orm::sea_query::Expr;
use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, Condition, ConnectionTrait, DbErr, EntityTrait as _, QueryFilter as _,
};
use sluice::model::Millis;

use super::entity::{order, payment, sale};
use super::outbox::Event;
use super::{ANSWER, Sql, int, or_nothing};
use crate::domain::order::{Reason, status};
use crate::domain::payment::{Payment, Verdict};

/// What `payments.status` says.
mod state {
    pub(super) const APPLIED: &str = "applied";
    pub(super) const REFUND_DUE: &str = "refund_due";
    pub(super) const FAILED: &str = "failed";
}

/// What became of a payment that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// The order is paid.
    Applied,
    /// The money came for an order that takes none any more: it is to go back.
    RefundDue,
    /// The payment failed, and the order was cancelled, or had come to its end before.
    Failed,
    /// It was told before.
    Known,
    /// Its number is another payment's.
    Conflict,
    /// Amount or currency are not the order's.
    Mismatch,
    /// SQL has no such order, perhaps not yet.
    NoOrder,
}

impl Sql {
    /// Whether a payment was recorded as it is told now.
    pub(crate) async fn knows_payment(&self, told: &Payment) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let row = payment::Entity::find_by_id(told.number.as_str()).one(&self.reader()).await?;
            Ok(row.is_some_and(|row| is_same(&row, told) && !is_news(&row, told)))
        })
        .await
    }

    /// Records a payment and applies it, in one transaction. `receipt` is made up for this call.
    pub(crate) async fn receive(&self, told: &Payment, receipt: &str, now: Millis) -> Result<Receipt, DbErr> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            let mine = payment::ActiveModel {
                payment_no: Set(told.number.clone()),
                order_id: Set(told.order.to_string()),
                amount: Set(told.amount),
                currency: Set(told.currency.clone()),
                status: Set(if told.result == Verdict::Paid { state::REFUND_DUE } else { state::FAILED }.to_owned()),
                receipt: Set(receipt.to_owned()),
                created_at: Set(int(now.0)),
                updated_at: Set(int(now.0)),
            };
            // Of two that tell the same number at once, the second waits here until the first has committed.
            let insert = payment::Entity::insert_many([mine]).on_conflict(or_nothing(payment::Column::PaymentNo));
            insert.exec_without_returning(&tx).await?;
            let row = payment::Entity::find_by_id(told.number.as_str()).one(&tx).await?;
            let row = row.ok_or_else(|| DbErr::RecordNotFound("a payment that was just written".to_owned()))?;
            if row.receipt != receipt {
                if !is_same(&row, told) {
                    return Ok(Receipt::Conflict);
                }
                if !is_news(&row, told) || !turn(&tx, told, state::FAILED, state::REFUND_DUE, now).await? {
                    return Ok(Receipt::Known);
                }
            }
            let found = order::Entity::find_by_id(told.order.as_str()).one(&tx).await?;
            let Some(found) = found else { return Ok(Receipt::NoOrder) };
            let sale = sale::Entity::find_by_id(found.sku.as_str()).one(&tx).await?;
            if found.amount != told.amount || sale.is_none_or(|sale| sale.currency != told.currency) {
                return Ok(Receipt::Mismatch);
            }
            let done = match told.result {
                Verdict::Paid => self.pay(&tx, &found, told, now).await?,
                Verdict::Failed => {
                    let wanted = Condition::all().add(order::Column::Id.eq(found.id.as_str()));
                    self.close(&tx, wanted, Reason::PaymentFailed, now).await?;
                    Receipt::Failed
                }
            };
            tx.commit().await?;
            Ok(done)
        })
        .await
    }

    /// pending_payment -> paid. When the order is something else by now, the money is to go back.
    async fn pay(
        &self,
        tx: &impl ConnectionTrait,
        found: &order::Model,
        told: &Payment,
        now: Millis,
    ) -> Result<Receipt, DbErr> {
        let update = order::Entity::update_many()
            .col_expr(order::Column::Status, Expr::val(status::PAID))
            .col_expr(order::Column::ClosedAt, Expr::val(Some(int(now.0))))
            .filter(order::Column::Id.eq(found.id.as_str()))
            .filter(order::Column::Status.eq(status::PENDING_PAYMENT));
        let paid = update.exec(tx).await?.rows_affected == 1;
        if paid {
            turn(tx, told, state::REFUND_DUE, state::APPLIED, now).await?;
        }
        let event = if paid { "order.paid" } else { "payment.refund_due" };
        let event = Event::about(event, found, Some(&told.number), None);
        self.tell(tx, std::iter::once(event), now).await?;
        Ok(if paid { Receipt::Applied } else { Receipt::RefundDue })
    }
}

fn is_same(row: &payment::Model, told: &Payment) -> bool {
    row.order_id == told.order.as_str() && row.amount == told.amount && row.currency == told.currency
}

/// Money that came after all under the number of a payment that had failed. The other way round is an old story.
fn is_news(row: &payment::Model, told: &Payment) -> bool {
    row.status == state::FAILED && told.result == Verdict::Paid
}

async fn turn(tx: &impl ConnectionTrait, told: &Payment, from: &str, to: &str, now: Millis) -> Result<bool, DbErr> {
    let update = payment::Entity::update_many()
        .col_expr(payment::Column::Status, Expr::val(to))
        .col_expr(payment::Column::UpdatedAt, Expr::val(int(now.0)))
        .filter(payment::Column::PaymentNo.eq(told.number.as_str()))
        .filter(payment::Column::Status.eq(from));
    Ok(update.exec(tx).await?.rows_affected == 1)
}
