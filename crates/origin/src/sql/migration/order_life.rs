//! The second step: orders that are paid, cancelled or run out of time.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, boolean, string_len, string_len_null};

use super::{create, extend, table};

pub(super) struct OrderLife;

impl MigrationName for OrderLife {
    fn name(&self) -> &str {
        "m0002_order_life"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for OrderLife {
    #[allow(elided_lifetimes_in_paths)] // as the trait has it
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let sales = vec![big_integer("pay_within").default(1_800_000).take(), boolean("rebuy").default(true).take()];
        extend(manager, "sales", sales).await?;
        let orders =
            vec![big_integer("pay_by").default(0).take(), big_integer_null("closed_at"), string_len_null("reason", 32)];
        extend(manager, "orders", orders).await?;
        let payments = table("payments")
            .col(string_len("payment_no", 64).primary_key())
            .col(string_len("order_id", 32))
            .col(big_integer("amount"))
            .col(string_len("currency", 3))
            .col(string_len("status", 16))
            .col(string_len("receipt", 26))
            .col(big_integer("created_at"))
            .col(big_integer("updated_at"))
            .take();
        let indexes =
            [("orders", "orders_due", &["status", "pay_by"] as &[_]), ("payments", "payments_order", &["order_id"])];
        create(manager, vec![payments], &indexes).await
    }
}
