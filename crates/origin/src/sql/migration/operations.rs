//! The third step: what operators do, and who does what only one may do at a time.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, string_len, string_len_null};

use super::{create, extend, table};

pub(super) struct Operations;

impl MigrationName for Operations {
    fn name(&self) -> &str {
        "m0003_operations"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Operations {
    #[allow(elided_lifetimes_in_paths)] // as the trait has it
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let dead = vec![string_len_null("retried_as", 32), big_integer_null("closed_at")];
        extend(manager, "dead_letters", dead).await?;
        let leases = table("leases")
            .col(string_len("name", 64).primary_key())
            .col(string_len("owner", 26))
            .col(big_integer("expires_at"))
            .take();
        create(manager, vec![leases], &[]).await
    }
}
