//! SQL by one code path. What differs between SQLite, PostgreSQL and MariaDB is in `connect` and in the migrations.

pub(crate) mod books;
pub(crate) mod close;
mod connect;
pub(crate) mod dead;
mod entity;
pub(crate) mod fault;
pub(crate) mod lease;
pub(crate) mod ledger;
mod migration;
pub(crate) mod orders;
pub(crate) mod outbox;
pub(crate) mod partitions;
pub(crate) mod payments;
pub(crate) mod products;
pub(crate) mod sales;
mod seam;
pub(crate) mod settle;
mod stock;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context as _;
#[cfg(not(test))]
use sea_orm::TransactionTrait as _;
use sea_orm::sea_query::{IntoIden, OnConflict};
use sea_orm::{DbErr, RuntimeErr};
use sea_orm_migration::MigratorTrait as _;

use connect::Pools;
use migration::Migrator;
use seam::{Pool, Tx};

/// How long a question may take, and whatever a client waits for.
const ANSWER: Duration = Duration::from_secs(4);
/// How long a transaction may take that no client waits for. Longer than any lock is waited for.
const WORK: Duration = Duration::from_secs(20);

/// A database. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Sql(Arc<Inner>);

struct Inner {
    url: String,
    /// Whether anybody wants to hear what happens to orders.
    events: bool,
    /// With a number that grows when they are replaced.
    pools: RwLock<(u64, Pools)>,
}

impl Sql {
    /// Connects, and brings the schema up to date.
    pub(crate) async fn open(url: &str, events: bool) -> anyhow::Result<Self> {
        let pools = connect::pools(url).await.context("cannot open the database")?;
        let sql = Self(Arc::new(Inner { url: url.to_owned(), events, pools: RwLock::new((0, pools)) }));
        sql.migrate().await.context("cannot bring the database's schema up to date")?;
        Ok(sql)
    }

    fn tells_events(&self) -> bool {
        self.0.events
    }

    /// For what only reads.
    fn reader(&self) -> Pool {
        seam::pool(self.pools().1.reader)
    }

    /// For what writes.
    fn writer(&self) -> Pool {
        seam::pool(self.pools().1.writer)
    }

    /// A transaction that writes.
    async fn begin(&self) -> Result<Tx, DbErr> {
        self.writer().begin().await
    }

    fn pools(&self) -> (u64, Pools) {
        self.0.pools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs `work`, and gives it up when it takes longer than `limit`: a database that hangs is one that is away.
    /// Whether it was done is then unknown, as it is when a connection breaks; everything here can be done again.
    async fn within<T, E: From<DbErr>>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let (generation, _) = self.pools();
        if let Ok(done) = tokio::time::timeout(limit, work).await {
            return done;
        }
        self.reconnect(generation).await;
        Err(DbErr::Conn(RuntimeErr::Internal("no answer in time".to_owned())).into())
    }

    /// The connections to a server that hangs would wait for it until the system gives them up, a quarter of an hour
    /// perhaps: new ones take their place. SQLite is in this process, and has one writer.
    async fn reconnect(&self, generation: u64) {
        if connect::is_sqlite(&self.0.url) {
            return;
        }
        // Nothing is sent yet, so this takes no time.
        match connect::pools(&self.0.url).await {
            Ok(fresh) => {
                let mut pools = self.0.pools.write().unwrap_or_else(PoisonError::into_inner);
                if pools.0 == generation {
                    *pools = (generation.wrapping_add(1), fresh);
                }
            }
            Err(error) => tracing::warn!(%error, "the connections to the database cannot be made anew"),
        }
    }

    /// Runs the migrations that are missing. Another process that does so at the same time may win a step: then this
    /// one looks again.
    async fn migrate(&self) -> Result<(), DbErr> {
        let mut tries_left = 5u32;
        loop {
            match Migrator::up(&self.pools().1.writer, None).await {
                Ok(()) => return Ok(()),
                Err(error) if tries_left == 0 => return Err(error),
                Err(_) => tries_left -= 1,
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Whether it answers.
    pub(crate) async fn answers(&self) -> bool {
        self.within(Duration::from_secs(2), async { self.reader().ping().await }).await.is_ok()
    }
}

impl std::fmt::Debug for Sql {
    /// Without the URL, which holds a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sql")
    }
}

/// Insert, and do nothing where any unique index has the row already. `key` is the primary key, which MariaDB needs.
fn or_nothing(key: impl IntoIden) -> OnConflict {
    OnConflict::new().do_nothing_on([key]).to_owned()
}

/// A number of this program as SQL stores it. None of them comes near the limit.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
