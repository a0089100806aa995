//! What a lock guards: a counter in SQLite that is read and written in two statements.

use crate::support::ms;
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement};
use tempfile::TempDir;

pub struct Sql {
    connection: DatabaseConnection,
    _folder: TempDir,
}

impl Sql {
    pub async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("test.sqlite").display());
        let mut options = ConnectOptions::new(url);
        // SQLite has one writer anyway; statements of different tasks still interleave.
        options.max_connections(1);
        let sql = Self { connection: Database::connect(options).await.unwrap(), _folder: folder };
        sql.run("CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, fence INTEGER NOT NULL)").await;
        sql.run("INSERT INTO counter VALUES (1, 0, 0)").await;
        sql
    }

    /// Runs a statement; how many rows it touched.
    pub async fn run(&self, statement: &str) -> u64 {
        self.connection.execute_unprepared(statement).await.unwrap().rows_affected()
    }

    /// The first column of the only row.
    pub async fn number(&self, query: &str) -> i64 {
        let row = self.connection.query_one_raw(Statement::from_string(DbBackend::Sqlite, query)).await.unwrap();
        row.unwrap().try_get_by_index(0).unwrap()
    }

    pub async fn value(&self) -> i64 {
        self.number("SELECT value FROM counter").await
    }

    /// Reads, dawdles, and writes one more: right only for one at a time.
    pub async fn count_carelessly(&self) {
        let value = self.value().await;
        tokio::time::sleep(ms(1)).await;
        self.run(&format!("UPDATE counter SET value = {}", value + 1)).await;
    }

    /// Moves the counter's fence up; false when it has seen that number or a larger one.
    pub async fn passes(&self, fence: i64) -> bool {
        self.run(&format!("UPDATE counter SET fence = {fence} WHERE fence < {fence}")).await == 1
    }
}
