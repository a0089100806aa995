//! Hears of changes, and makes the filter: at the start, whenever the connection was lost, and on a schedule.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use sluice::model::Sku;
use tokio::time::{Instant, timeout};

use crate::app::App;
use crate::redis::catalog::{News, subscribe};
use crate::shutdown::{Backoff, Shutdown};

/// How often the connection is looked after, and how long it may take to answer.
const PING: Duration = Duration::from_secs(2);
/// Ids that one question to SQL asks for.
const PAGE: u64 = 10_000;

/// Works until the shutdown.
pub(crate) async fn run(app: Arc<App>, mut shutdown: Shutdown) {
    let mut backoff = Backoff::new();
    let mut attempt = 0;
    while !shutdown.begun() {
        let ended = tokio::select! {
            ended = listen(&app, attempt, &mut backoff) => ended,
            () = shutdown.wait() => return,
        };
        app.catalog.hears.store(false, Ordering::Relaxed);
        tracing::warn!(error = format!("{:#}", ended), "changes of products are not heard of");
        attempt += 1;
        if shutdown.sleep(backoff.next()).await {
            return;
        }
    }
}

/// Listens until something is wrong, which is returned.
async fn listen(app: &App, attempt: usize, backoff: &mut Backoff) -> anyhow::Error {
    match try_listen(app, attempt, backoff).await {
        Ok(()) => anyhow::anyhow!("the connection has ended"),
        Err(error) => error,
    }
}

async fn try_listen(app: &App, attempt: usize, backoff: &mut Backoff) -> anyhow::Result<()> {
    let channel = subscribe(&app.config.redis, &app.config.keyspace, attempt).await?;
    let (mut sink, mut messages) = channel.split();
    // What happened before is found in SQL; what happens from now on waits in the connection.
    make_filter(app).await.context("the ids cannot be read")?;
    app.catalog.memory.forget_copies();
    app.catalog.hears.store(true, Ordering::Relaxed);
    backoff.reset();
    let mut made = Instant::now();
    loop {
        match timeout(PING, messages.next()).await {
            Ok(Some(message)) => heard(app, message.get_payload_bytes()),
            Ok(None) => return Ok(()),
            Err(_) => timeout(PING, sink.ping::<()>()).await.context("no answer in time")??,
        }
        if made.elapsed() >= app.config.filter_every {
            make_filter(app).await.context("the ids cannot be read")?;
            made = Instant::now();
        }
    }
}

fn heard(app: &App, payload: &[u8]) {
    let news = serde_json::from_slice::<News>(payload);
    match news.ok().and_then(|news| Some((Sku::parse(&news.id).ok()?, news.version))) {
        Some((id, version)) => app.catalog.heard(&id, version),
        None => tracing::warn!("an announcement of a product is not readable"),
    }
}

/// Makes the filter anew, of all ids that SQL has.
async fn make_filter(app: &App) -> anyhow::Result<()> {
    let count = app.sql.count_products().await?;
    let next = app.catalog.filter.begin(usize::try_from(count).unwrap_or(usize::MAX));
    let mut after = String::new();
    loop {
        let page = app.sql.product_ids(&after, PAGE).await?;
        page.iter().for_each(|id| next.add(id));
        match page.last() {
            Some(last) => after.clone_from(last),
            None => break,
        }
    }
    next.finish();
    Ok(())
}
