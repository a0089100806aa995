//! Opens a database: what each of the three is told, and nothing else that differs between them.

use std::time::Duration;

use sea_orm::sqlx::Executor as _;
use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr};

/// How long a statement waits for another process's transaction on SQLite.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request waits for a free connection to a server.
const ACQUIRE: Duration = Duration::from_secs(1);
/// Connections to a server.
const CONNECTIONS: u32 = 16;

/// What every session with PostgreSQL begins with. The server ends by itself what this process has given up, and what
/// a process that was frozen in a transaction would hold for ever.
const POSTGRES: &str = "SET statement_timeout = 20000; SET lock_timeout = 10000; \
     SET idle_in_transaction_session_timeout = 30000; SET default_transaction_isolation = 'read committed'";

/// And with MySQL and MariaDB: the isolation that PostgreSQL has by itself, so that all transactions mean the same;
/// and no value that is too long is ever cut. The comment is a statement to MariaDB alone.
const MYSQL: &str = "SET SESSION innodb_lock_wait_timeout = 10 /*M!100300 , idle_transaction_timeout = 30 */, \
     sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')";
const MYSQL_ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Connections for transactions that write, and for everything that only reads.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    pub(super) writer: DatabaseConnection,
    pub(super) reader: DatabaseConnection,
}

/// Whether the URL is a file's and not a server's.
pub(super) fn is_sqlite(url: &str) -> bool {
    url.starts_with("sqlite:")
}

/// Opens a database. A server is connected to when it is first asked something.
pub(super) async fn pools(url: &str) -> Result<Pools, DbErr> {
    if !is_sqlite(url) {
        let pool = Database::connect(server(url)).await?;
        return Ok(Pools { writer: pool.clone(), reader: pool });
    }
    // SQLite has one writer, so it has one connection; readers are not held up by it.
    let writer = Database::connect(sqlite(url, 1)).await?;
    // A database in memory belongs to its connection.
    let reader = if url.contains(":memory:") { writer.clone() } else { Database::connect(sqlite(url, 4)).await? };
    Ok(Pools { writer, reader })
}

fn server(url: &str) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options.max_connections(CONNECTIONS).acquire_timeout(ACQUIRE).connect_lazy(true).sqlx_logging(false);
    options.map_sqlx_postgres_pool_opts(|pool| {
        pool.after_connect(|connection, _| Box::pin(async move { connection.execute(POSTGRES).await.map(drop) }))
    });
    options.map_sqlx_mysql_pool_opts(|pool| {
        pool.after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute(MYSQL).await?;
                connection.execute(MYSQL_ISOLATION).await.map(drop)
            })
        })
    });
    options
}

fn sqlite(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options.max_connections(connections).acquire_timeout(BUSY_TIMEOUT * 2).sqlx_logging(false);
    options.map_sqlx_sqlite_opts(|sqlite| {
        sqlite
            .journal_mode(SqliteJournalMode::Wal)
            // An entry is acknowledged in Redis once its transaction has committed, so a commit must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
    });
    options
}
