//! `payments`: what the payment gateway has told, once a payment number.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "payments")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) payment_no: String,
    pub(crate) order_id: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    /// `applied`, `refund_due`, `refunded` or `failed`.
    pub(crate) status: String,
    /// Made up by whoever writes the row: tells one's own row from one that was there.
    pub(crate) receipt: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
