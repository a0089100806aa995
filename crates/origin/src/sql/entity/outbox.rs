//! `outbox`: what a transaction has decided and Redis must still be told.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "outbox")]
pub(crate) struct Model {
    #[sea_orm(primary_key)]
    pub(crate) id: i64,
    /// What is to be done, once: a second row for it cannot be written.
    #[sea_orm(unique)]
    pub(crate) dedupe_key: String,
    pub(crate) kind: String,
    pub(crate) payload: String,
    pub(crate) attempts: i32,
    pub(crate) next_at: i64,
    pub(crate) done_at: Option<i64>,
    pub(crate) created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
