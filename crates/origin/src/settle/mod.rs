//! The settle loop: one task a partition moves accepted orders from the stream into SQL.
//!
//! Read, commit, acknowledge, in that order. Whatever fails in between is read again, from this consumer's own pending
//! entries or, when it died, by another one; SQL's unique indexes make the second time a no-op.

mod batch;
pub(crate) mod plan;

use std::sync::Arc;
use std::time::Duration;

use sluice::model::Partition;
use tokio::time::Instant;

use crate::app::App;
use crate::redis::RedisFault;
use crate::redis::stream::{Consumer, Entry, From};
use crate::shutdown::{Backoff, Shutdown};
use crate::sql::fault::SettleFault;

/// How long one read waits for an entry: shorter than the time that a command may take.
const WAIT: Duration = Duration::from_millis(500);

/// Why a round was broken off. The next one begins with this consumer's own pending entries.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Redis(#[from] RedisFault),
    #[error("Redis: {0}")]
    Stream(#[from] ::redis::RedisError),
    #[error("SQL: {0}")]
    Sql(#[from] sea_orm::DbErr),
    #[error(transparent)]
    Settle(#[from] SettleFault),
    #[error("shutting down")]
    Shutdown,
}

/// Settles one partition until the shutdown.
pub(crate) async fn run(app: Arc<App>, partition: Partition, mut shutdown: Shutdown) {
    let mut backoff = Backoff::new();
    while !shutdown.begun() {
        let mut settler = match Settler::start(&app, partition, shutdown.clone()).await {
            Ok(settler) => settler,
            Err(error) => {
                tracing::warn!(partition = partition.0, %error, "settling cannot start");
                if shutdown.sleep(backoff.next()).await {
                    return;
                }
                continue;
            }
        };
        app.begins_to_settle(partition);
        let broken = settler.rounds(&mut backoff).await;
        app.ceases_to_settle(partition);
        match broken {
            Err(Broken::Shutdown) | Ok(()) => return,
            Err(error) => {
                tracing::warn!(partition = partition.0, %error, "settling was interrupted");
                if shutdown.sleep(backoff.next()).await {
                    return;
                }
            }
        }
    }
}

/// One connection's worth of settling.
struct Settler<'a> {
    app: &'a App,
    consumer: Consumer,
    partition: Partition,
    shutdown: Shutdown,
    /// Entries that failed alone, with the time of their next attempt.
    parked: Vec<(Entry, Instant)>,
}

impl<'a> Settler<'a> {
    async fn start(app: &'a App, partition: Partition, shutdown: Shutdown) -> Result<Self, Broken> {
        let mut consumer = Consumer {
            connection: app.redis.own(partition).await?,
            keys: app.config.keyspace.clone(),
            partition,
            name: app.config.consumer.clone(),
            batch: app.config.batch,
        };
        consumer.ensure_group().await?;
        Ok(Self { app, consumer, partition, shutdown, parked: Vec::new() })
    }

    /// Own pending entries first, then new ones, and now and then what others have left.
    async fn rounds(&mut self, backoff: &mut Backoff) -> Result<(), Broken> {
        self.drain_pending().await?;
        let mut tended = Instant::now();
        while !self.shutdown.begun() {
            self.retry_parked().await?;
            let epoch = self.epoch().await?;
            let wait = if self.parked.is_empty() { WAIT } else { WAIT / 10 };
            let entries = self.consumer.read(From::New(wait)).await?;
            let idle = entries.is_empty();
            self.settle(entries, epoch).await?;
            backoff.reset();
            if tended.elapsed() >= self.app.config.tend_every {
                self.tend().await?;
                tended = Instant::now();
            }
            if idle {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Read before the batch is: a recovery that comes in between is then noticed when the batch is committed.
    async fn epoch(&self) -> Result<i64, Broken> {
        Ok(self.app.sql.partition(self.partition).await?.0)
    }

    async fn drain_pending(&mut self) -> Result<(), Broken> {
        let mut after = "0".to_owned();
        loop {
            let epoch = self.epoch().await?;
            let entries = self.consumer.read(From::Pending(&after)).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            after.clone_from(&last.id);
            self.settle(entries, epoch).await?;
        }
    }

    /// Takes over from consumers that are gone, and trims.
    async fn tend(&mut self) -> Result<(), Broken> {
        let mut cursor = "0-0".to_owned();
        loop {
            let epoch = self.epoch().await?;
            let (next, mut entries, gone) = self.consumer.take_over(self.app.config.take_over_after, &cursor).await?;
            if !gone.is_empty() {
                tracing::error!(partition = self.partition.0, ?gone, "pending entries were removed from the stream");
            }
            entries.retain(|entry| self.parked.iter().all(|(parked, _)| parked.id != entry.id));
            if !entries.is_empty() {
                tracing::info!(partition = self.partition.0, entries = entries.len(), "took over idle entries");
            }
            self.settle(entries, epoch).await?;
            if next == "0-0" {
                break;
            }
            cursor = next;
        }
        self.consumer.trim().await?;
        Ok(())
    }
}
