//! The schema, step by step. A step that was released is never edited: a later one changes what it made.

use sea_orm::{ConnectionTrait as _, DbBackend, Statement};
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
        let collation = bytewise(manager).await?;
        for mut table in tables() {
            if let Some(collation) = collation {
                table.character_set("utf8mb4").collate(collation);
            }
            manager.create_table(table).await?;
        }
        for (table, name, index) in indexes() {
            // MySQL knows no `IF NOT EXISTS` for an index.
            if !manager.has_index(table, name).await? {
                manager.create_index(index).await?;
            }
        }
        Ok(())
    }
}

/// The collation by which SKUs, users and ids that differ in case, or in blanks at the end, are different. The other
/// databases compare so by themselves; MySQL and MariaDB do not, and call it by different names.
#[allow(elided_lifetimes_in_paths)] // as the trait has it
async fn bytewise(manager: &SchemaManager<'_>) -> Result<Option<&'static str>, DbErr> {
    if manager.get_database_backend() != DbBackend::MySql {
        return Ok(None);
    }
    let version = Statement::from_string(DbBackend::MySql, "SELECT VERSION()");
    let row = manager.get_connection().query_one_raw(version).await?;
    let version: String = row.map_or_else(|| Ok(String::new()), |row| row.try_get_by_index(0))?;
    Ok(Some(if version.contains("MariaDB") { "utf8mb4_nopad_bin" } else { "utf8mb4_0900_bin" }))
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

/// With their tables and names.
fn indexes() -> Vec<(&'static str, &'static str, IndexCreateStatement)> {
    let index = |name: &'static str, table: &'static str, columns: &[&'static str]| {
        let mut index = Index::create().name(name).table(table).take();
        for column in columns {
            index.col(*column);
        }
        (table, name, index)
    };
    vec![
        index("orders_user_sku", "orders", &["user_id", "sku"]),
        index("inventory_log_sku", "inventory_log", &["sku", "id"]),
        index("outbox_open", "outbox", &["done_at", "next_at"]),
    ]
}
