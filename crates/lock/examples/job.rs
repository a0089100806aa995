//! Scheduled work that one process at a time does: under a lock, or under a lease in SQL while Redis is away.
//!
//!     cargo run -p sluice-lock --example job -- redis://127.0.0.1:6379

use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbErr};
use sluice_lock::{Fallback, Job, Locks, Terms, Turn};
use std::time::Duration;

/// A row for each job; the condition and the write are one statement, by the database's clock.
#[derive(Clone)]
pub struct Leases(DatabaseConnection);

const NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";

impl Leases {
    async fn open() -> Result<Self, DbErr> {
        let mut options = ConnectOptions::new("sqlite::memory:");
        // A database in memory belongs to its connection.
        options.max_connections(1);
        let sql = Database::connect(options).await?;
        sql.execute_unprepared("CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT, ends INTEGER)").await?;
        Ok(Self(sql))
    }
}

impl Fallback for Leases {
    type Error = DbErr;

    async fn take(&self, name: &str, holder: &str, ttl: Duration) -> Result<bool, DbErr> {
        // Names and holders of this crate hold no quotes.
        let ends = format!("{NOW} + {}", ttl.as_millis());
        let statement = format!(
            "INSERT INTO leases VALUES ('{name}', '{holder}', {ends}) ON CONFLICT (name) DO UPDATE \
             SET holder = '{holder}', ends = {ends} WHERE holder = '{holder}' OR ends < {NOW}"
        );
        Ok(self.0.execute_unprepared(&statement).await?.rows_affected() == 1)
    }

    async fn give_up(&self, name: &str, holder: &str) -> Result<(), DbErr> {
        let statement = format!("DELETE FROM leases WHERE name = '{name}' AND holder = '{holder}'");
        self.0.execute_unprepared(&statement).await.map(drop)
    }
}

/// Two turns of two processes at once.
pub async fn run(redis: &str) -> anyhow::Result<(Turn<&'static str>, Turn<&'static str>)> {
    let connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let terms = Terms::new(Duration::from_secs(5))?.renewed_up_to(Duration::from_secs(600))?;
    let lock = Locks::new(connection, "example")?.simple("tidy-up", terms)?;
    let leases = Leases::open().await?;
    let (mine, theirs) = (Job::new(lock.clone(), leases.clone()), Job::new(lock, leases));
    let turn = mine.run(|_fence| async { theirs.run(|_| async { "done twice" }).await });
    match turn.await? {
        Turn::Done(other) => Ok((Turn::Done("done once"), other?)),
        Turn::Elsewhere => Ok((Turn::Elsewhere, Turn::Elsewhere)),
        Turn::Lost => Ok((Turn::Lost, Turn::Lost)),
    }
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let (mine, theirs) = run(&redis).await?;
    println!("this process: {mine:?}; another at the same time: {theirs:?}");
    Ok(())
}
