//! The first step: everything that settling needs.

use sea_orm_migration::prelude::{sea_query, *};
use sea_orm_migration::schema::{big_integer, big_integer_null, integer, string_len, string_len_null, text};

use super::{Index, create, table};

/// Sales, orders, inventory with its ledger, and what settling needs.
pub(super) struct Foundation;

impl MigrationName for Foundation {
    fn name(&self) -> &str {
        "m0001_foundation"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Foundation {
    // Every table is made only if it is missing: two processes may start on an empty database at once.
    #[allow(elided_lifetimes_in_paths)] // as the trait has it
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        create(manager, tables(), &indexes()).await
    }
}

fn tables() -> Vec<TableCreateStatement> {
    vec![
        table("sales")
            .col(string_len("sku", 64).primary_key())
            .col(string_len("title", 200))
            .col(big_integer("price"))
            .col(string_len("currency", 3))
            .col(integer("per_user"))
            .col(big_integer("starts_at"))
            .col(big_integer("ends_at"))
            .col(string_len("status", 16))
            .col(big_integer("version"))
            .col(integer("partition"))
            .col(big_integer("created_at"))
            .take(),
        table("partitions").col(integer("id").primary_key()).col(big_integer("epoch")).col(big_integer("seq")).take(),
        table("orders")
            .col(string_len("id", 32).primary_key())
            .col(string_len("request_id", 64).unique_key())
            .col(string_len("sku", 64))
            .col(string_len("user_id", 128))
            .col(integer("quantity"))
            .col(big_integer("amount"))
            .col(string_len("status", 16))
            .col(string_len_null("buyer_slot", 200).unique_key())
            .col(integer("partition"))
            .col(big_integer("seq"))
            .col(big_integer("created_at"))
            .col(big_integer("settled_at"))
            .take(),
        table("inventory")
            .col(string_len("sku", 64).primary_key())
            .col(big_integer("stock"))
            .col(big_integer("initial"))
            .take(),
        table("inventory_log")
            .col(big_integer("id").auto_increment().primary_key())
            .col(string_len("log_no", 96).unique_key())
            .col(string_len("sku", 64))
            .col(string_len("warehouse", 64))
            .col(string_len("kind", 16))
            .col(big_integer("quantity"))
            .col(big_integer("before_stock"))
            .col(big_integer("after_stock"))
            .col(string_len_null("order_id", 32))
            .col(string_len("operator", 64))
            .col(string_len("remark", 200))
            .col(big_integer("created_at"))
            .take(),
        table("outbox")
            .col(big_integer("id").auto_increment().primary_key())
            .col(string_len("dedupe_key", 128).unique_key())
            .col(string_len("kind", 16))
            .col(text("payload"))
            .col(integer("attempts"))
            .col(big_integer("next_at"))
            .col(big_integer_null("done_at"))
            .col(big_integer("created_at"))
            .take(),
        table("dead_letters")
            .col(string_len("request_id", 64).primary_key())
            .col(integer("partition"))
            .col(string_len("entry_id", 48))
            .col(string_len_null("order_id", 32))
            .col(text("payload"))
            .col(string_len("error", 500))
            .col(integer("attempts"))
            .col(big_integer("created_at"))
            .take(),
        table("settle_attempts")
            .col(integer("partition"))
            .col(string_len("entry_id", 48))
            .col(integer("attempts"))
            .col(string_len("error", 500))
            .col(big_integer("updated_at"))
            .primary_key(sea_query::Index::create().col("partition").col("entry_id"))
            .take(),
    ]
}

fn indexes() -> [Index; 3] {
    [
        ("orders", "orders_user_sku", &["user_id", "sku"]),
        ("inventory_log", "inventory_log_sku", &["sku", "id"]),
        ("outbox", "outbox_open", &["done_at", "next_at"]),
    ]
}
