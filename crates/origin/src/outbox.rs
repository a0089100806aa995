//! Carries out what transactions have left in the outbox, and puts sales into Redis that were never there.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sluice::model::{Millis, OrderId, Sku, User};
use sluice::script::preheat::Applied;
use sluice::script::restore::{Restore, Restored};

use crate::app::App;
use crate::domain::sale::Status;
use crate::jobs::{Had, Name};
use crate::shutdown::Shutdown;
use crate::sql::outbox::{Kind, Open, Task};
use crate::sql::sales::Listed;

/// Tasks that one look takes.
const BATCH: u64 = 100;
/// What is for Redis.
const KINDS: [Kind; 4] = [Kind::Restore, Kind::Restock, Kind::Terms, Kind::Product];
/// When another process has the turn.
const AGAIN: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Works until the shutdown, in one process at a time.
pub(crate) async fn run(app: Arc<App>, mut shutdown: Shutdown) {
    while !shutdown.begun() {
        let had = app.jobs.turn(Name::Outbox, turn(&app)).await;
        tokio::select! {
            // Who has the turn may have looked before what this process was woken for was there: soon again.
            () = tokio::time::sleep(AGAIN), if had == Had::None => {}
            () = app.outbox.notified(), if had != Had::None => {}
            () = tokio::time::sleep(app.config.poll_every) => {}
            () = shutdown.wait() => {}
        }
    }
}

async fn turn(app: &App) {
    if let Err(error) = preheat_scheduled(app).await {
        tracing::warn!(%error, "a sale waits to be put into Redis");
    }
    if let Err(error) = carry_out(app).await {
        tracing::warn!(%error, "the outbox waits");
    }
}

async fn carry_out(app: &App) -> anyhow::Result<()> {
    for open in app.sql.open_tasks(&KINDS, app.now(), BATCH).await? {
        let done = match &open.task {
            Some(task) => perform(app, task).await,
            None => Err(anyhow::anyhow!("the row is not readable")),
        };
        finish(app, &open, done).await?;
    }
    Ok(())
}

/// Marks a task as done, or puts it off: for longer each time.
pub(crate) async fn finish(app: &App, open: &Open, done: anyhow::Result<()>) -> anyhow::Result<()> {
    match done {
        Ok(()) => app.sql.task_done(open.id, app.now()).await?,
        Err(error) => {
            let wait = Duration::from_millis(500) * 2u32.saturating_pow(open.attempts.unsigned_abs().min(10));
            let wait = Millis(u64::try_from(wait.min(LONGEST_WAIT).as_millis()).unwrap_or(u64::MAX));
            tracing::warn!(id = open.id, attempts = open.attempts, error = format!("{error:#}"), "a task failed");
            app.sql.task_failed(open.id, app.now().plus(wait)).await?;
        }
    }
    Ok(())
}

async fn perform(app: &App, task: &Task) -> anyhow::Result<()> {
    let keys = &app.config.keyspace;
    match task {
        Task::Restore { order, sku, user, quantity, state, keeps_buyer } => {
            let (order, sku, user) = (OrderId::parse(order)?, Sku::parse(sku)?, User::parse(user)?);
            let order_ttl = app.config.order_ttl;
            let call = Restore {
                order: &order,
                sku: &sku,
                user: &user,
                quantity: *quantity,
                state,
                order_ttl,
                keeps_buyer: *keeps_buyer,
            };
            match app.redis.restore(keys, &call).await? {
                Restored::Now => app.metrics.restored(),
                Restored::Before => {}
                Restored::NotPreheated => {
                    let sale = app.sql.sale(&sku).await?;
                    let over = sale.is_none_or(|listed| listed.sale.status == Status::Closed);
                    anyhow::ensure!(over, "sale {sku} is not in Redis");
                }
            }
        }
        Task::Terms { sku, .. } => {
            let sku = Sku::parse(sku)?;
            let listed = app.sql.sale(&sku).await?.with_context(|| format!("there is no sale {sku}"))?;
            if apply_terms(app, &listed).await? == Applied::NotPreheated {
                // A scheduled sale takes its terms along when it is preheated.
                let later = matches!(listed.sale.status, Status::Closed | Status::Scheduled);
                anyhow::ensure!(later, "sale {sku} is not in Redis");
            }
        }
        Task::Restock { restock, sku, units } => {
            let sku = Sku::parse(sku)?;
            match app.redis.restock(keys, &sku, restock, *units).await? {
                Restored::Now | Restored::Before => {}
                Restored::NotPreheated => {
                    let sale = app.sql.sale(&sku).await?;
                    let over = sale.is_none_or(|listed| listed.sale.status == Status::Closed);
                    anyhow::ensure!(over, "sale {sku} is not in Redis");
                }
            }
        }
        Task::Product { product, version } => {
            let version = u64::try_from(*version)?;
            app.redis.outdate(keys, &Sku::parse(product)?, version).await?;
        }
        Task::Event(_) => anyhow::bail!("an event is not for Redis"),
    }
    Ok(())
}

/// Tells Redis a sale's terms as SQL has them.
pub(crate) async fn apply_terms(app: &App, listed: &Listed) -> anyhow::Result<Applied> {
    let Listed { sale, .. } = listed;
    let applied = app.redis.set_terms(&app.config.keyspace, &sale.sku, &sale.terms).await?;
    if sale.status == Status::Closed {
        app.redis.expire_sale(&app.config.keyspace, &sale.sku).await?;
    }
    Ok(applied)
}

/// Puts every sale into Redis that SQL says was never there.
async fn preheat_scheduled(app: &App) -> anyhow::Result<()> {
    for listed in app.sql.scheduled_sales().await? {
        preheat(app, &listed).await?;
    }
    Ok(())
}

/// Scheduled -> open. Redis comes first: should this process die in between, the stock that is there is left alone.
pub(crate) async fn preheat(app: &App, listed: &Listed) -> anyhow::Result<()> {
    let sale = &listed.sale;
    let stock = u64::try_from(listed.stock)?;
    let written = app.redis.preheat(&app.config.keyspace, &sale.sku, &sale.terms, stock).await?;
    app.sql.sale_opened(&sale.sku).await?;
    // Terms that were changed meanwhile had nowhere to go until now.
    if let Some(current) = app.sql.sale(&sale.sku).await? {
        apply_terms(app, &current).await?;
    }
    tracing::info!(sku = %sale.sku, stock, written, "the sale is in Redis");
    Ok(())
}
