//! Orders as their owners see them.

use sea_orm::{ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _};
use serde::Serialize;
use sluice::model::{OrderId, Sku, User};

use super::entity::order::{Column, Entity, Model};
use super::{ANSWER, Sql};
use crate::domain::order::status;

/// The most orders that one answer lists.
const LISTED: u64 = 100;

/// An order in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct View {
    pub(crate) order_id: String,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    /// What is to be paid, in the currency's smallest unit.
    pub(crate) amount: i64,
    pub(crate) status: String,
    /// When it was accepted, ms.
    pub(crate) created_at: i64,
    /// Until when it is to be paid, ms; only while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pay_by: Option<i64>,
}

impl View {
    /// Whether it waits for its payment.
    pub(crate) fn is_to_be_paid(&self) -> bool {
        self.status == status::PENDING_PAYMENT
    }
}

impl From<Model> for View {
    fn from(row: Model) -> Self {
        Self {
            order_id: row.id,
            sku: row.sku,
            quantity: row.quantity.into(),
            amount: row.amount,
            pay_by: (row.status == status::PENDING_PAYMENT).then_some(row.pay_by),
            status: row.status,
            created_at: row.created_at,
        }
    }
}

impl Sql {
    /// An order of this user.
    pub(crate) async fn order(&self, id: &OrderId, user: &User) -> Result<Option<View>, DbErr> {
        self.within(ANSWER, async {
            let found =
                Entity::find_by_id(id.as_str()).filter(Column::UserId.eq(user.as_str())).one(&self.reader()).await?;
            Ok(found.map(View::from))
        })
        .await
    }

    /// This user's orders of one sale, the newest first.
    pub(crate) async fn orders_of(&self, sku: &Sku, user: &User) -> Result<Vec<View>, DbErr> {
        self.within(ANSWER, async {
            let rows = Entity::find()
                .filter(Column::UserId.eq(user.as_str()))
                .filter(Column::Sku.eq(sku.as_str()))
                .order_by_desc(Column::CreatedAt)
                .limit(LISTED)
                .all(&self.reader())
                .await?;
            Ok(rows.into_iter().map(View::from).collect())
        })
        .await
    }
}
