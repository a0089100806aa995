//! Looks into the origin's database, and writes to it where a test makes trouble.

use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement};

/// A connection beside the origin's.
pub struct Sql(DatabaseConnection);

impl Sql {
    pub async fn open(url: &str) -> Self {
        Self(Database::connect(url).await.unwrap())
    }

    /// The first column of the only row.
    pub async fn number(&self, query: &str) -> i64 {
        let row = self.0.query_one_raw(Statement::from_string(DbBackend::Sqlite, query)).await.unwrap();
        row.unwrap_or_else(|| panic!("no row: {query}")).try_get_by_index(0).unwrap()
    }

    /// The first column of all rows.
    pub async fn texts(&self, query: &str) -> Vec<String> {
        let rows = self.0.query_all_raw(Statement::from_string(DbBackend::Sqlite, query)).await.unwrap();
        rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
    }

    /// Runs a statement.
    pub async fn run(&self, statement: &str) {
        self.0.execute_unprepared(statement).await.unwrap();
    }

    /// Each `before` is the previous `after`, and the last `after` is the stock.
    pub async fn assert_ledger_is_whole(&self, sku: &str) {
        let query =
            format!("SELECT before_stock, quantity, after_stock FROM inventory_log WHERE sku = '{sku}' ORDER BY id");
        let rows = self.0.query_all_raw(Statement::from_string(DbBackend::Sqlite, query)).await.unwrap();
        let mut stock = 0i64;
        for row in rows {
            let at = |n| row.try_get_by_index::<i64>(n).unwrap();
            assert_eq!(at(0), stock, "the chain is broken");
            assert_eq!(at(0) + at(1), at(2));
            stock = at(2);
        }
        assert_eq!(self.number(&format!("SELECT stock FROM inventory WHERE sku = '{sku}'")).await, stock);
    }
}
