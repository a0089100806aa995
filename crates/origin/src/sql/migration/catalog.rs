//! The fourth step: products.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, string_len, text};

use super::{create, table};

pub(super) struct Catalog;

impl MigrationName for Catalog {
    fn name(&self) -> &str {
        "m0004_catalog"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Catalog {
    #[allow(elided_lifetimes_in_paths)] // as the trait has it
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let products = table("products")
            .col(string_len("id", 64).primary_key())
            .col(string_len("title", 200))
            .col(text("description"))
            .col(big_integer("price"))
            .col(string_len("currency", 3))
            .col(string_len("class", 16))
            .col(big_integer("version"))
            .col(big_integer("created_at"))
            .col(big_integer("updated_at"))
            .take();
        create(manager, vec![products], &[]).await
    }
}
