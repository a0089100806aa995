//! A sale's terms and stock, changed while it sells. SQL first; Redis at once when it is there, else a running `serve`
//! brings it over.

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use sluice::model::{Millis, Sku};
use sluice::script::preheat::Applied;

use super::Unknown;
use crate::app::App;
use crate::domain::sale::{State, Status};
use crate::outbox;
use crate::sql::sales::Listed;

/// A sale as it is told.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) sku: String,
    pub(crate) title: String,
    pub(crate) state: &'static str,
    /// Scheduled, open, paused or closed: how far it has come.
    pub(crate) status: &'static str,
    pub(crate) price: u64,
    pub(crate) currency: String,
    pub(crate) per_user: u32,
    pub(crate) initial: i64,
    /// What SQL has left: settled orders are taken off.
    pub(crate) sql_stock: i64,
    /// What Redis has left; `null` when it is not there.
    pub(crate) redis_stock: Option<i64>,
    pub(crate) starts_at: u64,
    pub(crate) ends_at: u64,
    pub(crate) partition: u16,
}

impl Row {
    fn new(listed: Listed, redis_stock: Option<i64>, now: Millis) -> Self {
        let Listed { sale, partition, stock, initial } = listed;
        Self {
            state: State::of(&sale, redis_stock, now).as_str(),
            status: sale.status.as_str(),
            sku: sale.sku.to_string(),
            title: sale.title,
            price: sale.terms.price,
            currency: sale.currency,
            per_user: sale.terms.per_user,
            initial,
            sql_stock: stock,
            redis_stock,
            starts_at: sale.terms.starts_at.0,
            ends_at: sale.terms.ends_at.0,
            partition: partition.0,
        }
    }
}

/// A sale with what Redis has left of it.
pub(crate) async fn row(app: &App, listed: Listed) -> anyhow::Result<Row> {
    let (now, stock) = app.redis.stock(&app.config.keyspace, &listed.sale.sku).await?;
    Ok(Row::new(listed, stock, now))
}

/// Terms that are to be different; the others stay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) starts_at: Option<Millis>,
    pub(crate) ends_at: Option<Millis>,
    pub(crate) price: Option<u64>,
    pub(crate) per_user: Option<u32>,
}

/// The sale, which must exist.
pub(crate) async fn find(app: &App, sku: &Sku) -> anyhow::Result<Listed> {
    app.sql.sale(sku).await?.ok_or_else(|| Unknown(format!("there is no sale {sku}")).into())
}

/// Pauses or resumes. Asked for twice is done once.
pub(crate) async fn switch(app: &App, sku: &Sku, from: Status, to: Status) -> anyhow::Result<Listed> {
    if !app.sql.change_status(sku, from, to, app.now()).await? {
        let listed = find(app, sku).await?;
        ensure!(listed.sale.status == to, "sale {sku} is {}, not {}", listed.sale.status.as_str(), from.as_str());
    }
    carry_over(app, sku).await
}

/// Closes for good. Asked for twice is done once.
pub(crate) async fn close(app: &App, sku: &Sku) -> anyhow::Result<Listed> {
    // By Redis' clock, which decides when a sale has ended; without Redis by ours.
    let (now, _) = app.redis.stock(&app.config.keyspace, sku).await.unwrap_or((app.now(), None));
    if !app.sql.close_sale(sku, now).await? {
        let listed = find(app, sku).await?;
        ensure!(listed.sale.status == Status::Closed, "sale {sku} was not closed");
    }
    let listed = find(app, sku).await?;
    // A sale that was never in Redis has nothing to be closed there.
    let done = outbox::apply_terms(app, &listed).await;
    done.with_context(|| format!("sale {sku} is closed in SQL, and Redis will follow"))?;
    find(app, sku).await
}

/// Changes terms. Orders that were accepted keep the price at which they were.
pub(crate) async fn reschedule(app: &App, sku: &Sku, change: Change) -> anyhow::Result<Listed> {
    let set = |value: Option<u64>, column: &mut i64| {
        if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
            *column = value;
        }
    };
    let changed = app
        .sql
        .change_terms(
            sku,
            |row| {
                set(change.starts_at.map(|at| at.0), &mut row.starts_at);
                set(change.ends_at.map(|at| at.0), &mut row.ends_at);
                set(change.price, &mut row.price);
                if let Some(n) = change.per_user.and_then(|n| i32::try_from(n).ok()) {
                    row.per_user = n;
                }
            },
            app.now(),
        )
        .await?;
    if !changed {
        let listed = find(app, sku).await?;
        bail!("sale {sku} is {}", listed.sale.status.as_str());
    }
    carry_over(app, sku).await
}

/// Adds units, in SQL and then in Redis, once.
pub(crate) async fn restock(app: &App, sku: &Sku, units: u32, remark: &str) -> anyhow::Result<Listed> {
    let listed = find(app, sku).await?;
    if listed.sale.status == Status::Scheduled {
        // Stock is added to what is in Redis; before that it would be read from SQL and added twice.
        outbox::preheat(app, &listed).await.context("the sale is not in Redis yet, and could not be put there")?;
    }
    let id = ulid::Ulid::generate().to_string();
    if !app.sql.restock(sku, units, &id, remark, app.now()).await? {
        bail!("sale {sku} is {}", find(app, sku).await?.sale.status.as_str());
    }
    // At once where it can be; the outbox does it otherwise, and once only.
    let added = app.redis.restock(&app.config.keyspace, sku, &id, units).await;
    added.with_context(|| format!("sale {sku} has {units} more in SQL, and Redis will follow"))?;
    find(app, sku).await
}

async fn carry_over(app: &App, sku: &Sku) -> anyhow::Result<Listed> {
    let listed = find(app, sku).await?;
    let status = listed.sale.status.as_str();
    let applied = outbox::apply_terms(app, &listed).await;
    let applied = applied.with_context(|| format!("sale {sku} is {status} in SQL, and Redis will follow"))?;
    let there = applied != Applied::NotPreheated || listed.sale.status == Status::Scheduled;
    ensure!(there, "sale {sku} is {status} in SQL, but it is not in Redis");
    Ok(listed)
}
