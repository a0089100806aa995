//! `settle_attempts`: how often an entry has failed alone.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "settle_attempts")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) partition: i32,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) entry_id: String,
    pub(crate) attempts: i32,
    pub(crate) error: String,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
