//! `sales`: what is on offer, and when.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "sales")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) sku: String,
    pub(crate) title: String,
    pub(crate) price: i64,
    pub(crate) currency: String,
    pub(crate) per_user: i32,
    pub(crate) starts_at: i64,
    pub(crate) ends_at: i64,
    pub(crate) status: String,
    /// Grows with every change, so that Redis can tell the newer terms.
    pub(crate) version: i64,
    pub(crate) partition: i32,
    pub(crate) created_at: i64,
    /// How long an order may stay unpaid, ms.
    pub(crate) pay_within: i64,
    /// Whether a buyer may buy again who cancelled, or did not pay.
    pub(crate) rebuy: bool,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
