//! The schema, step by step. A step that was released is never edited: a later one changes what it made.

mod catalog;
mod foundation;
mod operations;
mod order_life;

use sea_orm::{ConnectionTrait as _, DbBackend, Statement};
use sea_orm_migration::prelude::{sea_query, *};

pub(crate) struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(foundation::Foundation),
            Box::new(order_life::OrderLife),
            Box::new(operations::Operations),
            Box::new(catalog::Catalog),
        ]
    }
}

/// An index: its table, its name, its columns.
type Index = (&'static str, &'static str, &'static [&'static str]);

fn table(name: &'static str) -> TableCreateStatement {
    Table::create().table(name).if_not_exists().take()
}

/// Makes what is missing of these.
async fn create(
    manager: &SchemaManager<'_>,
    tables: Vec<TableCreateStatement>,
    indexes: &[Index],
) -> Result<(), DbErr> {
    let collation = bytewise(manager).await?;
    for mut table in tables {
        if let Some(collation) = collation {
            table.character_set("utf8mb4").collate(collation);
        }
        manager.create_table(table).await?;
    }
    for (table, name, columns) in indexes {
        // MySQL knows no `IF NOT EXISTS` for an index.
        if !manager.has_index(table, name).await? {
            let mut index = sea_query::Index::create().name(*name).table(*table).take();
            for column in *columns {
                index.col(*column);
            }
            manager.create_index(index).await?;
        }
    }
    Ok(())
}

/// Adds the columns that are missing.
async fn extend(manager: &SchemaManager<'_>, table: &'static str, columns: Vec<ColumnDef>) -> Result<(), DbErr> {
    for column in columns {
        if !manager.has_column(table, column.get_column_name()).await? {
            manager.alter_table(Table::alter().table(table).add_column(column).take()).await?;
        }
    }
    Ok(())
}

/// The collation by which SKUs, users and ids that differ in case, or in blanks at the end, are different. The other
/// databases compare so by themselves; MySQL and MariaDB do not, and call it by different names.
async fn bytewise(manager: &SchemaManager<'_>) -> Result<Option<&'static str>, DbErr> {
    if manager.get_database_backend() != DbBackend::MySql {
        return Ok(None);
    }
    let version = Statement::from_string(DbBackend::MySql, "SELECT VERSION()");
    let row = manager.get_connection().query_one_raw(version).await?;
    let version: String = row.map_or_else(|| Ok(String::new()), |row| row.try_get_by_index(0))?;
    Ok(Some(if version.contains("MariaDB") { "utf8mb4_nopad_bin" } else { "utf8mb4_0900_bin" }))
}
