//! `products`: what the catalog tells.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "products")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) title: String,
    #[sea_orm(column_type = "Text")]
    pub(crate) description: String,
    pub(crate) price: i64,
    pub(crate) currency: String,
    pub(crate) class: String,
    /// Grows with every change, so that caches can tell the newer one.
    pub(crate) version: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
