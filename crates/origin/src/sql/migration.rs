//! The schema, step by step. A step that was released is never edited: a later one changes what it made.

use sea_orm::DbBackend;
use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_integer_null, integer, string_len, string_len_null, text};

pub(crate) struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(Foundation)]
    }
}

/// Sales, orders, inventory with its ledger, and what settling needs.
struct Foundation;

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
        for table in tables() {
            manager.create_table(bytewise(table, manager.get_database_backend())).await?;
        }
        for index in indexes() {
            manager.create_index(index).await?;
        }
        Ok(())
    }
}

/// SKUs, users and ids that differ in case only are different; MariaDB's default collation would take them as equal.
fn bytewise(mut table: TableCreateStatement, backend: DbBackend) -> TableCreateStatement {
    if backend == DbBackend::MySql {
        table.character_set("utf8mb4").collate("utf8mb4_bin");
    }
    table
}

fn table(name: &'static str) -> TableCreateStatement {
    Table::create().table(name).if_not_exists().take()
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
            .primary_key(Index::create().col("partition").col("entry_id"))
            .take(),
    ]
}

fn indexes() -> Vec<IndexCreateStatement> {
    let index = |name: &'static str, table: &'static str, columns: &[&'static str]| {
        let mut index = Index::create().name(name).table(table).if_not_exists().take();
        for column in columns {
            index.col(*column);
        }
        index
    };
    vec![
        index("orders_user_sku", "orders", &["user_id", "sku"]),
        index("inventory_log_sku", "inventory_log", &["sku", "id"]),
        index("outbox_open", "outbox", &["done_at", "next_at"]),
    ]
}
