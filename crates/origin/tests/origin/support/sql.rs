//! Looks into the origin's database, and writes to it where a test makes trouble.
//!
//! Which database that is, `SLUICE_TEST_SQL` says: the URL of a PostgreSQL or MariaDB server on which each test makes a
//! database of its own. Without it a test has an SQLite file of its own.

use std::sync::atomic::{AtomicU32, Ordering};

use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement};
use tempfile::TempDir;

/// A database of one test, and a connection beside the origin's.
pub struct Sql {
    pub url: String,
    connection: DatabaseConnection,
    _folder: Option<TempDir>,
}

impl Sql {
    /// An empty database.
    pub async fn new() -> Self {
        let Ok(server) = std::env::var("SLUICE_TEST_SQL") else {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite://{}?mode=rwc", folder.path().join("origin.sqlite").display());
            let connection = Database::connect(&url).await.unwrap();
            return Self { url, connection, _folder: Some(folder) };
        };
        let url = Self::another(&server).await;
        let connection = Database::connect(options(&url, 4)).await.unwrap();
        Self { url, connection, _folder: None }
    }

    /// Makes one more database on a server, and returns its URL.
    async fn another(server: &str) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let admin = Database::connect(options(server, 1)).await.unwrap();
        admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await.unwrap();
        admin.close().await.unwrap();
        format!("{}/{name}", server.rsplit_once('/').unwrap().0)
    }

    /// The URL of an empty database beside this one.
    pub async fn empty(&self) -> String {
        match std::env::var("SLUICE_TEST_SQL") {
            Ok(server) => Self::another(&server).await,
            Err(_) => format!("{}.fresh?mode=rwc", self.url.trim_end_matches("?mode=rwc")),
        }
    }

    /// Closes the origin's connections from the server's side.
    pub async fn hang_up(&self) {
        match self.backend() {
            DbBackend::Postgres => {
                self.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND pid <> pg_backend_pid()",
                )
                .await;
            }
            _ => {
                let others = "SELECT CAST(id AS CHAR) FROM information_schema.processlist \
                              WHERE db = DATABASE() AND id <> CONNECTION_ID()";
                for id in self.texts(others).await {
                    // It may have gone by itself.
                    let _ = self.connection.execute_unprepared(&format!("KILL {id}")).await;
                }
            }
        }
    }

    pub fn backend(&self) -> DbBackend {
        self.connection.get_database_backend()
    }

    /// The first column of the only row.
    pub async fn number(&self, query: &str) -> i64 {
        let row = self.connection.query_one_raw(Statement::from_string(self.backend(), query)).await.unwrap();
        let row = row.unwrap_or_else(|| panic!("no row: {query}"));
        row.try_get_by_index(0).or_else(|_| row.try_get_by_index::<i32>(0).map(i64::from)).unwrap()
    }

    /// The sum of a column over some rows.
    pub async fn sum(&self, column: &str, of: &str) -> i64 {
        let integer = if self.backend() == DbBackend::MySql { "SIGNED" } else { "BIGINT" };
        self.number(&format!("SELECT CAST(COALESCE(SUM({column}), 0) AS {integer}) FROM {of}")).await
    }

    /// The first column of all rows.
    pub async fn texts(&self, query: &str) -> Vec<String> {
        let rows = self.connection.query_all_raw(Statement::from_string(self.backend(), query)).await.unwrap();
        rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
    }

    /// Runs a statement.
    pub async fn run(&self, statement: &str) {
        self.connection.execute_unprepared(statement).await.unwrap();
    }

    /// From now on the database refuses orders by the user `poison`, as it would refuse data of which one value is bad.
    pub async fn poison(&self) {
        self.run(if self.backend() == DbBackend::Sqlite {
            "CREATE TRIGGER poison BEFORE INSERT ON orders WHEN NEW.user_id = 'poison' \
             BEGIN SELECT RAISE(ABORT, 'poison'); END"
        } else {
            "ALTER TABLE orders ADD CONSTRAINT poison CHECK (user_id <> 'poison')"
        })
        .await;
    }

    /// And takes them again.
    pub async fn unpoison(&self) {
        self.run(if self.backend() == DbBackend::Sqlite {
            "DROP TRIGGER poison"
        } else {
            "ALTER TABLE orders DROP CONSTRAINT poison"
        })
        .await;
    }

    /// Holds the lock that everything needs which settles; reading goes on.
    pub async fn lock(&self) -> Lock {
        let connection = Database::connect(options(&self.url, 1)).await.unwrap();
        if self.backend() == DbBackend::Sqlite {
            connection.execute_unprepared("BEGIN IMMEDIATE").await.unwrap();
        } else {
            connection.execute_unprepared("BEGIN").await.unwrap();
            let rows = Statement::from_string(self.backend(), "SELECT id FROM partitions FOR UPDATE");
            assert!(!connection.query_all_raw(rows).await.unwrap().is_empty());
        }
        Lock(connection)
    }

    /// Each `before` is the previous `after`, and the last `after` is the stock.
    pub async fn assert_ledger_is_whole(&self, sku: &str) {
        let query =
            format!("SELECT before_stock, quantity, after_stock FROM inventory_log WHERE sku = '{sku}' ORDER BY id");
        let rows = self.connection.query_all_raw(Statement::from_string(self.backend(), query)).await.unwrap();
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

/// A transaction of one's own.
pub struct Lock(DatabaseConnection);

impl Lock {
    /// Runs a statement in it, and commits.
    pub async fn commit(self, statement: &str) {
        self.0.execute_unprepared(statement).await.unwrap();
        self.0.execute_unprepared("COMMIT").await.unwrap();
        self.0.close().await.unwrap();
    }

    /// Lets go of it.
    pub async fn release(self) {
        self.0.execute_unprepared("ROLLBACK").await.unwrap();
        self.0.close().await.unwrap();
    }
}

fn options(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options.max_connections(connections).sqlx_logging(false);
    options
}
