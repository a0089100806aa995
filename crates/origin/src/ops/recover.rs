//! After Redis was lost or rolled back: its stock, buyers and requests are made anew from SQL.
//!
//! Everything in the partition is paused first, and what the stream still holds is settled. Then one transaction raises
//! the partition's epoch, so that no batch that was read before can be committed after, and reads what Redis is to hold.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use sluice::model::{Millis, Partition, Sku};
use sluice::script::preheat::Applied;
use sluice::script::repair::Repair;

use super::reconcile::drained;
use super::sale;
use crate::app::App;
use crate::domain::order::status;
use crate::domain::sale::Status;
use crate::outbox;
use crate::redis::books::Rebuilt;
use crate::settle;
use crate::shutdown;
use crate::sql::books::{Books, Kept};

/// `seq` goes on from the next multiple of this: above all that any process can have seen, and numbers that were lost
/// stay apart from numbers that were never used.
const GENERATION: u64 = 1_000_000_000;
/// How often the books are read anew while cancelled orders still move a stock.
const TRIES: u32 = 20;

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) sales: Vec<Line>,
    pub(crate) partitions: Vec<Gap>,
}

/// One sale.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) sku: String,
    /// `None` where Redis had lost it.
    pub(crate) stock_before: Option<i64>,
    pub(crate) stock: i64,
    pub(crate) buyers: usize,
    pub(crate) requests: usize,
    /// Open again, or paused because it was before.
    pub(crate) status: &'static str,
}

/// Accepted orders that are nowhere any more.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Gap {
    pub(crate) partition: u16,
    /// The highest number that SQL or Redis or this process has seen.
    pub(crate) highest_seq: u64,
    /// Numbers up to it that no order and no dead letter has. Second orders of one operation are among them; orders above
    /// the highest that was seen are not.
    pub(crate) missing: u64,
}

/// Recovers every partition. A process that settles anyway says so; another one settles what the stream holds by itself,
/// beside any `serve`.
pub(crate) async fn run(app: &Arc<App>, settles: bool, wait: Duration) -> anyhow::Result<Report> {
    let mut report = Report { sales: Vec::new(), partitions: Vec::new() };
    for p in app.config.keyspace.partitions() {
        if settles {
            partition(app, p, wait, &mut report).await?;
            continue;
        }
        let (trigger, stopping) = shutdown::pair();
        let settling = tokio::spawn(settle::run(app.clone(), p, stopping));
        let done = partition(app, p, wait, &mut report).await;
        trigger.fire();
        let _ = settling.await;
        done?;
    }
    Ok(report)
}

async fn partition(app: &App, p: Partition, wait: Duration, report: &mut Report) -> anyhow::Result<()> {
    let keys = &app.config.keyspace;
    let mut paused = Vec::new();
    let sales = app.sql.books(p, &[]).await?.sales;
    if sales.is_empty() {
        return Ok(());
    }
    let skus: Vec<Sku> = sales.iter().map(|listed| listed.sale.sku.clone()).collect();
    // Nothing is paused before Redis is there.
    app.redis.counters(keys, p, &skus).await?;
    for listed in &sales {
        let sku = &listed.sale.sku;
        if listed.sale.status == Status::Open
            && app.sql.change_status(sku, Status::Open, Status::Paused, app.now()).await?
        {
            paused.push(sku.clone());
        }
        // Where Redis has lost it, it refuses by itself.
        let listed = sale::find(app, sku).await?;
        let _: Applied = outbox::apply_terms(app, &listed).await?;
    }
    drained(app, p, wait).await?;

    let mut tries_left = TRIES;
    let (before, books, kept) = loop {
        let before = app.redis.counters(keys, p, &skus).await?;
        let remembered_from = app.now().minus(app.config.retention);
        let (books, kept) = app.sql.new_epoch(p, remembered_from).await?;
        if write(app, p, &skus, &before.stocks, &books, &kept).await? {
            break (before, books, kept);
        }
        tries_left = tries_left.checked_sub(1).context("the stock does not stand still; the sales stay paused")?;
    };
    let highest = before.seq.max(books.seq).max(app.redis.known_seq(p));
    let generation = highest / GENERATION * GENERATION;
    let missing = app.sql.missing_seqs(p, generation + 1, highest).await?;
    app.redis.set_seq(keys, p, generation + GENERATION).await?;
    report.partitions.push(Gap { partition: p.0, highest_seq: highest, missing });

    for (n, sku) in skus.iter().enumerate() {
        if paused.contains(sku) {
            sale::switch(app, sku, Status::Paused, Status::Open).await?;
        }
        let listed = sale::find(app, sku).await?;
        let orders = kept.get(sku.as_str()).map(Vec::as_slice).unwrap_or_default();
        let rebuilt = rebuilt(app, orders, listed.sale.rebuy);
        report.sales.push(Line {
            sku: sku.to_string(),
            stock_before: before.stocks.get(n).copied().flatten(),
            stock: books.sales.iter().find(|one| one.sale.sku == *sku).map_or(0, |one| one.stock),
            buyers: rebuilt.buyers.len(),
            requests: rebuilt.requests.len(),
            status: listed.sale.status.as_str(),
        });
    }
    Ok(())
}

/// Writes every sale. `false` when a stock has moved since it was seen: an order was given back meanwhile.
async fn write(
    app: &App,
    p: Partition,
    skus: &[Sku],
    seen: &[Option<i64>],
    books: &Books,
    kept: &HashMap<String, Vec<Kept>>,
) -> anyhow::Result<bool> {
    let keys = &app.config.keyspace;
    debug_assert!(skus.iter().all(|sku| keys.partition_of(sku) == p));
    for (sku, seen) in skus.iter().zip(seen) {
        let Some(listed) = books.sales.iter().find(|listed| listed.sale.sku == *sku) else { continue };
        let orders = kept.get(sku.as_str()).map(Vec::as_slice).unwrap_or_default();
        app.redis.rebuild(keys, sku, &listed.sale.terms, &rebuilt(app, orders, listed.sale.rebuy)).await?;
        let owed = books.owed.get(sku.as_str()).into_iter().flatten().map(|owed| owed.marker.clone());
        let restored: Vec<String> = owed.collect();
        let call = Repair { sku, seen: *seen, stock: listed.stock, restored: &restored };
        if !app.redis.repair(keys, &call).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn rebuilt(app: &App, orders: &[Kept], rebuy: bool) -> Rebuilt {
    let now = app.now();
    let mut buyers: HashMap<&str, Vec<String>> = HashMap::new();
    let mut all = Rebuilt::default();
    for order in orders {
        let counts = match order.status.as_str() {
            status::FAILED => false,
            status::CANCELLED => !rebuy,
            _ => true,
        };
        if counts {
            buyers.entry(&order.user).or_default().push(format!("{}:{}", order.id, order.quantity));
        }
        let age = now.minus(Millis(u64::try_from(order.created_at).unwrap_or(0)));
        if age < app.config.retention {
            all.requests.push((order.request_id.clone(), order.id.clone(), app.config.retention.minus(age)));
        }
        if order.status == status::PENDING_PAYMENT {
            all.due.push((order.id.clone(), order.pay_by));
        }
    }
    all.buyers = buyers.into_iter().map(|(user, orders)| (user.to_owned(), orders.join(","))).collect();
    all
}
