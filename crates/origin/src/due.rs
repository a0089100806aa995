//! Orders that were not paid in time. Redis' sorted set tells them to the moment; SQL is swept behind it, for what never
//! got into the set.

use std::sync::Arc;
use std::time::Duration;

use sluice::model::{Millis, OrderId, Partition};
use tokio::time::Instant;

use crate::app::App;
use crate::domain::order::Reason;
use crate::jobs::{Had, Name};
use crate::shutdown::Shutdown;
use crate::sql::close::Closing;

/// Orders that one look takes.
const MOST: u64 = 100;
/// For how long an order is lent out: longer than it takes to cancel that many.
const LEASE: Millis = Millis::from_secs(60);

/// Works until the shutdown, in one process at a time.
pub(crate) async fn run(app: Arc<App>, mut shutdown: Shutdown) {
    let mut swept: Option<Instant> = None;
    while !shutdown.begun() {
        let sweeps = swept.is_none_or(|at| at.elapsed() >= app.config.sweep_every);
        if app.jobs.turn(Name::Due, turn(&app, sweeps)).await == Had::Turn(true) {
            swept = Some(Instant::now());
        }
        if shutdown.sleep(app.config.poll_every.max(Duration::from_millis(10))).await {
            return;
        }
    }
}

/// Cancels what is over; whether SQL was swept.
async fn turn(app: &App, sweeps: bool) -> bool {
    for partition in app.config.keyspace.partitions() {
        if let Err(error) = lent(app, partition).await {
            tracing::warn!(error = format!("{error:#}"), partition = partition.0, "overdue orders wait");
        }
    }
    if !sweeps {
        return false;
    }
    let swept = sweep(app).await;
    if let Err(error) = &swept {
        tracing::warn!(error = format!("{error:#}"), "overdue orders wait for SQL");
    }
    swept.is_ok()
}

async fn lent(app: &App, partition: Partition) -> anyhow::Result<()> {
    loop {
        let ids = app.redis.overdue(&app.config.keyspace, partition, LEASE, MOST).await?;
        for id in &ids {
            if is_over(app, id).await? {
                app.redis.not_due(&app.config.keyspace, id).await?;
            }
        }
        if ids.is_empty() {
            return Ok(());
        }
    }
}

async fn sweep(app: &App) -> anyhow::Result<()> {
    loop {
        let ids = app.sql.overdue(app.now(), MOST).await?;
        let (all, mut done) = (ids.len(), 0);
        for id in ids.iter().filter_map(|id| OrderId::parse(id).ok()) {
            done += usize::from(is_over(app, &id).await?);
        }
        if all == 0 || done == 0 {
            return Ok(());
        }
    }
}

/// Cancels an order unless it was paid; whether nothing is left to be done for it.
async fn is_over(app: &App, id: &OrderId) -> anyhow::Result<bool> {
    let now = app.now();
    match app.sql.cancel(id, None, Reason::TimedOut, now).await? {
        Closing::Cancelled(_) => {
            app.metrics.timed_out();
            app.outbox.notify_one();
            app.events.notify_one();
            Ok(true)
        }
        // Lent too early: this machine's clock is behind.
        Closing::Left(view) => Ok(!view.is_to_be_paid()),
        Closing::Unknown => Ok(true),
    }
}
