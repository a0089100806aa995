//! One schedule from start to judgement.

use super::after::after;
use super::audit::Auditor;
use super::books::Books;
use super::clients::Clients;
use super::gateway::Gateway;
use super::judge::{Loss, judge};
use super::options::Database;
use super::schedule::Schedule;
use super::shop::{BACK, PAYMENT_SECRET, SKU, Servers, Shop};
use super::tally::{Tally, Told};
use super::trouble;
use crate::clock;
use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use sluice::assertion::Assertions;
use sluice::script::keys::Keyspace;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What came out of a schedule.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// A sentence for each invariant that does not hold.
    pub(super) broken: Vec<String>,
    /// Orders that were accepted.
    pub(super) accepted: usize,
    /// Of them, those that were lost with Redis.
    pub(super) lost: usize,
    /// How often an origin took entries over from another one.
    pub(super) take_overs: usize,
    /// The ends of the logs, where something is broken.
    pub(super) logs: String,
    /// Everything that clients were told, where something is broken.
    pub(super) told: Vec<(u64, Told)>,
}

/// Runs it. An error says that the run itself failed; it counts as broken.
pub(super) async fn run(schedule: &Schedule, database: Database, servers: &Servers) -> Result<Outcome> {
    let shop = Shop::open(schedule, database, servers).await?;
    let done = in_shop(schedule, &shop).await;
    let (logs, take_overs) = (shop.logs(), shop.take_overs());
    tokio::task::spawn_blocking(move || shop.end()).await?;
    let mut outcome = done.with_context(|| logs.clone())?;
    outcome.take_overs = take_overs;
    if !outcome.broken.is_empty() {
        outcome.logs = logs;
    }
    Ok(outcome)
}

async fn in_shop(schedule: &Schedule, shop: &Shop) -> Result<Outcome> {
    let auditor = Auditor::new(&shop.stack.redis_url(), &shop.database, Keyspace::default(), SKU).await?;
    let done = tokio::select! {
        done = watched(schedule, shop, &auditor) => done,
        ended = shop.supervise() => Err(ended.err().unwrap_or_else(|| anyhow::anyhow!("nobody supervises"))),
    };
    auditor.close().await;
    done
}

async fn watched(schedule: &Schedule, shop: &Shop, auditor: &Auditor) -> Result<Outcome> {
    let (mended, is_mended) = watch::channel(None);
    let clients = Arc::new(Clients {
        origins: shop.origins.clone(),
        assertions: Assertions::new(&shop.stack.secrets().assertion)?,
        gateway: Gateway { secret: PAYMENT_SECRET.to_owned(), http: reqwest::Client::builder().no_proxy().build()? },
        sku: SKU.to_owned(),
        tally: Tally::default(),
        begun: clock::now(),
        pause: Duration::from_millis(100),
        mended: is_mended,
        patience: Duration::from_secs(20),
    });
    let break_and_mend = async {
        let faults = schedule.faults.iter().map(|fault| trouble::suffer(shop, auditor, *fault, clients.begun));
        let losses = try_join_all(faults).await?;
        shop.until_ready().await?;
        mended.send_replace(Some(clock::now()));
        anyhow::Ok(losses.into_iter().flatten().next())
    };
    let (loss, ()) = tokio::try_join!(break_and_mend, clients.come(&schedule.crowd))?;

    let (books, unsold) = after(&schedule.crowd, &clients, auditor, BACK).await?;
    let mut broken: Vec<String> = unsold.into_iter().collect();
    for tool in [&["reconcile", "--json"][..], &["ledger", "verify", "--json"]] {
        if let Err(error) = shop.stack.origin_tool(tool).await {
            broken.push(format!("{error:#}"));
        }
    }
    let told = clients.tally.all();
    broken.extend(judge(&schedule.crowd, &told, &books, loss.as_ref()));
    let (accepted, lost) = counts(&told, &books, loss.as_ref());
    let told = if broken.is_empty() { Vec::new() } else { told };
    Ok(Outcome { broken, accepted, lost, told, ..Outcome::default() })
}

/// How many orders were accepted, and how many of them are gone.
fn counts(told: &[(u64, Told)], books: &Books, loss: Option<&Loss>) -> (usize, usize) {
    let accepted: BTreeSet<&str> = told
        .iter()
        .filter_map(|(_, told)| match told {
            Told::Accepted { order, .. } => Some(order.as_str()),
            _ => None,
        })
        .collect();
    let there = |id: &&&str| books.orders.iter().any(|order| order.id == **id);
    let lost = loss.map_or(0, |_| accepted.len() - accepted.iter().filter(there).count());
    (accepted.len(), lost)
}
