//! `dead_letters`: entries that could not be settled.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "dead_letters")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) request_id: String,
    pub(crate) partition: i32,
    pub(crate) entry_id: String,
    pub(crate) order_id: Option<String>,
    /// The entry's fields as JSON.
    pub(crate) payload: String,
    pub(crate) error: String,
    pub(crate) attempts: i32,
    pub(crate) created_at: i64,
    /// The order that a retry has led to.
    pub(crate) retried_as: Option<String>,
    /// When it was retried or dropped.
    pub(crate) closed_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
