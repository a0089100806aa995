//! `orders`: at most one an operation.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    #[sea_orm(unique)]
    pub(crate) request_id: String,
    pub(crate) sku: String,
    pub(crate) user_id: String,
    pub(crate) quantity: i32,
    pub(crate) amount: i64,
    pub(crate) status: String,
    #[sea_orm(unique)]
    pub(crate) buyer_slot: Option<String>,
    pub(crate) partition: i32,
    pub(crate) seq: i64,
    pub(crate) created_at: i64,
    pub(crate) settled_at: i64,
    /// When it is cancelled unless it was paid.
    pub(crate) pay_by: i64,
    /// When it was paid, or came to its end without that.
    pub(crate) closed_at: Option<i64>,
    /// Why it was cancelled.
    pub(crate) reason: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
