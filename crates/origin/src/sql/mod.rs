//! SQL by one code path. Nothing here is of one database only, but for how SQLite is opened.

pub(crate) mod dead;
mod entity;
pub(crate) mod fault;
mod migration;
pub(crate) mod orders;
pub(crate) mod outbox;
pub(crate) mod partitions;
pub(crate) mod sales;
pub(crate) mod settle;

use std::time::Duration;

use anyhow::Context as _;
use sea_orm::sea_query::{IntoIden, OnConflict};
use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sea_orm::{ConnectOptions, Database, DatabaseConnection};
use sea_orm_migration::MigratorTrait as _;

use migration::Migrator;

/// How long a statement waits for another process's transaction on SQLite.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A database. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Sql {
    /// Transactions that write. SQLite has one writer, so it has one connection.
    pub(crate) writer: DatabaseConnection,
    /// Everything that only reads, and is not held up by the writer.
    pub(crate) reader: DatabaseConnection,
}

impl Sql {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(url: &str) -> anyhow::Result<Self> {
        let sql = Self::connect(url).await.context("cannot open the database")?;
        sql.migrate().await.context("cannot bring the database's schema up to date")?;
        Ok(sql)
    }

    async fn connect(url: &str) -> Result<Self, sea_orm::DbErr> {
        if !url.starts_with("sqlite:") {
            let pool = Database::connect(options(url, 16)).await?;
            return Ok(Self { writer: pool.clone(), reader: pool });
        }
        let writer = Database::connect(sqlite(url, 1)).await?;
        // A database in memory belongs to its connection.
        let reader = if url.contains(":memory:") { writer.clone() } else { Database::connect(sqlite(url, 4)).await? };
        Ok(Self { writer, reader })
    }

    /// Runs the migrations that are missing. Another process that does so at the same time may win a step: then this
    /// one looks again.
    async fn migrate(&self) -> Result<(), sea_orm::DbErr> {
        let mut tries_left = 5u32;
        loop {
            match Migrator::up(&self.writer, None).await {
                Ok(()) => return Ok(()),
                Err(error) if tries_left == 0 => return Err(error),
                Err(_) => tries_left -= 1,
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Whether it answers.
    pub(crate) async fn answers(&self) -> bool {
        let ping = tokio::time::timeout(Duration::from_secs(2), self.reader.ping()).await;
        matches!(ping, Ok(Ok(())))
    }
}

fn options(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options.max_connections(connections).acquire_timeout(Duration::from_secs(1)).sqlx_logging(false);
    options
}

fn sqlite(url: &str, connections: u32) -> ConnectOptions {
    let mut options = options(url, connections);
    options.acquire_timeout(BUSY_TIMEOUT * 2);
    options.map_sqlx_sqlite_opts(|sqlite| {
        sqlite
            .journal_mode(SqliteJournalMode::Wal)
            // An entry is acknowledged in Redis once its transaction has committed, so a commit must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
    });
    options
}

/// Insert, and do nothing where any unique index has the row already. `key` is the primary key, which MariaDB needs.
fn or_nothing(key: impl IntoIden) -> OnConflict {
    OnConflict::new().do_nothing_on([key]).to_owned()
}

/// A number of this program as SQL stores it. None of them comes near the limit.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
