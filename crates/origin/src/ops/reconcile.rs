//! Compares Redis' stock with SQL's, and sets it right where that is asked for.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;
use sluice::model::{Partition, Sku};
use sluice::script::repair::Repair;

use super::sale;
use crate::app::App;
use crate::domain::balance::{Balance, Reading};
use crate::domain::ledger::Break;
use crate::domain::sale::Status;
use crate::shutdown::Backoff;

/// A difference must be there twice, so far apart, to be one.
const BETWEEN: Duration = Duration::from_secs(2);
/// How often a repair is tried while cancelled orders still move the stock.
const TRIES: u32 = 20;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) agrees: bool,
    pub(crate) sales: Vec<Balance>,
    pub(crate) ledger_rows: u64,
    pub(crate) ledger_breaks: Vec<Break>,
}

/// Two rounds where the first finds a difference; a sale whose difference is gone in the second agrees.
pub(crate) async fn check(app: &App) -> anyhow::Result<Report> {
    let mut sales = round(app).await?;
    if sales.iter().any(|balance| !balance.agrees) {
        tokio::time::sleep(BETWEEN).await;
        let before: HashSet<String> = sales.iter().filter(|b| !b.agrees).map(|b| b.sku.clone()).collect();
        sales = round(app).await?;
        for balance in &mut sales {
            balance.agrees |= !before.contains(&balance.sku);
        }
    }
    let (ledger_rows, ledger_breaks) = app.sql.verify_ledger(None).await?;
    let agrees = ledger_breaks.is_empty() && sales.iter().all(|balance| balance.agrees);
    Ok(Report { agrees, sales, ledger_rows, ledger_breaks })
}

async fn round(app: &App) -> anyhow::Result<Vec<Balance>> {
    let mut all = Vec::new();
    for partition in app.config.keyspace.partitions() {
        all.extend(partition_round(app, partition).await?);
    }
    Ok(all)
}

/// Redis, then SQL in one snapshot, then Redis again: what moved in between is known, and everything is exact when
/// nothing did.
async fn partition_round(app: &App, p: Partition) -> anyhow::Result<Vec<Balance>> {
    let keys = &app.config.keyspace;
    let skus: Vec<Sku> = app.sql.books(p, &[]).await?.sales.into_iter().map(|listed| listed.sale.sku).collect();
    if skus.is_empty() {
        return Ok(Vec::new());
    }
    let first = app.redis.counters(keys, p, &skus).await?;
    let in_stream = app.redis.in_stream(keys, p).await?;
    let books = app.sql.books(p, &in_stream).await?;
    let markers: Vec<String> = books.owed.values().flatten().map(|owed| owed.marker.clone()).collect();
    let restored = app.redis.restored(keys, p, &markers).await?;
    let last = app.redis.counters(keys, p, &skus).await?;

    let done: HashSet<&String> = markers.iter().zip(restored).filter(|(_, done)| *done).map(|(id, _)| id).collect();
    let mut unsettled: HashMap<&str, i64> = HashMap::new();
    for placed in in_stream.iter().filter(|placed| !books.accounted.contains(placed.order.as_str())) {
        *unsettled.entry(placed.sku.as_str()).or_default() += i64::from(placed.quantity);
    }
    let deducts = last.seq.abs_diff(first.seq);
    let stocks = first.stocks.iter().zip(&last.stocks);
    let stocks: HashMap<&str, _> = skus.iter().map(Sku::as_str).zip(stocks).collect();
    let of = |listed: &crate::sql::sales::Listed| {
        let sku = listed.sale.sku.as_str();
        let redis = stocks.get(sku).map(|(first, last)| [**first, **last])?;
        let owed = books.owed.get(sku).into_iter().flatten().filter(|owed| !done.contains(&owed.marker));
        Some(Balance::of(&Reading {
            sku: sku.to_owned(),
            redis,
            sql: listed.stock,
            unsettled: unsettled.get(sku).copied().unwrap_or(0),
            owed: owed.map(|owed| owed.units).sum(),
            deducts,
            per_user: listed.sale.terms.per_user,
        }))
    };
    Ok(books.sales.iter().filter_map(of).collect())
}

/// Sets a sale's stock in Redis to what SQL says: pauses it, waits until nothing is on its way, sets the stock, and
/// resumes it if it was open.
pub(crate) async fn repair(app: &App, sku: &Sku, wait: Duration) -> anyhow::Result<()> {
    let keys = &app.config.keyspace;
    let p = keys.partition_of(sku);
    let was_open = sale::find(app, sku).await?.sale.status == Status::Open;
    if was_open {
        sale::switch(app, sku, Status::Open, Status::Paused).await?;
    }
    drained(app, p, wait).await?;
    let mut tries_left = TRIES;
    loop {
        let seen = app.redis.counters(keys, p, std::slice::from_ref(sku)).await?.stocks.first().copied().flatten();
        ensure!(seen.is_some(), "Redis has no stock of {sku}: `recover` puts it back");
        let books = app.sql.books(p, &[]).await?;
        let listed = books.sales.iter().find(|listed| listed.sale.sku == *sku).context("the sale is closed")?;
        let owed = books.owed.get(sku.as_str()).into_iter().flatten().map(|owed| owed.marker.clone());
        let restored: Vec<String> = owed.collect();
        let call = Repair { sku, seen, stock: listed.stock, restored: &restored };
        if app.redis.repair(keys, &call).await? {
            tracing::warn!(%sku, from = seen, to = listed.stock, "the stock in Redis was repaired");
            break;
        }
        // An order was given back in between.
        tries_left = tries_left.checked_sub(1).context("the stock does not stand still; the sale stays paused")?;
    }
    if was_open {
        sale::switch(app, sku, Status::Paused, Status::Open).await?;
    }
    Ok(())
}

/// Waits until everything in a partition's stream is settled and acknowledged, by whoever settles.
pub(crate) async fn drained(app: &App, p: Partition, wait: Duration) -> anyhow::Result<()> {
    let waiting = async {
        let mut backoff = Backoff::new();
        loop {
            if app.redis.is_drained(&app.config.keyspace, p).await? {
                return anyhow::Ok(());
            }
            tokio::time::sleep(backoff.next()).await;
        }
    };
    let done = tokio::time::timeout(wait, waiting).await;
    done.context("orders are still on their way into SQL; the sale stays paused: is `serve` running?")?
}
