//! `partitions`: one row a partition, locked by every settling transaction.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "partitions")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: i32,
    /// Raised by a recovery; a batch that was read under an older one is not committed.
    pub(crate) epoch: i64,
    /// The highest `seq` that was settled; raised only.
    pub(crate) seq: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
