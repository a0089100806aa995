//! The way of a request through the layers.

use std::sync::Arc;
use std::time::Duration;

use sluice::model::{Millis, Sku};
use sluice_lock::{NotAcquired, Wait};
use tokio::time::{Instant, timeout};

use super::counts::{Layer, Refusal};
use super::entry::{Entry, Step, Worth};
use crate::app::App;
use crate::domain::product::Product;

/// The pause between two looks while another process makes the entry.
const PAUSE: Duration = Duration::from_millis(15);
/// How long is waited for leave to read SQL directly.
const PATIENCE: Duration = Duration::from_millis(100);

/// Too many want what only SQL has: to be asked again after a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy(pub(crate) Millis);

const BUSY: Busy = Busy(Millis(1_000));

/// Redis, or its locks, are of no use now.
struct Away;

/// The product of an id, if there is one.
pub(crate) async fn find(app: &Arc<App>, id: &Sku) -> Result<Option<Product>, Busy> {
    let it = &app.catalog;
    // Deaf, this process cannot know what others have made.
    if it.hears() && it.filter.excludes(id) {
        it.counts.refused(Refusal::Filter);
        return Ok(None);
    }
    if let Some(entry) = fresh(app, id) {
        return Ok(entry.product.clone());
    }
    let flight = it.memory.flight(id);
    let held = match flight.try_lock() {
        Ok(held) => Ok(held),
        Err(_) => {
            it.counts.waited();
            timeout(app.config.catalog_wait, flight.lock()).await
        }
    };
    let entry = match held {
        // Who had it before may have found it.
        Ok(_held) => match fresh(app, id) {
            Some(entry) => entry,
            None => shared(app, id).await?,
        },
        Err(_) => without(app, id).await?,
    };
    Ok(entry.product.clone())
}

fn fresh(app: &App, id: &Sku) -> Option<Arc<Entry>> {
    let it = &app.catalog;
    let (worth, entry) = it.memory.copy(id, it.hears(), app.now())?;
    (worth == Worth::Fresh).then(|| {
        it.counts.answered(Layer::Local);
        entry
    })
}

/// From Redis, or by making its entry anew; one process at a time does that, and the others wait for it briefly.
async fn shared(app: &Arc<App>, id: &Sku) -> Result<Arc<Entry>, Busy> {
    let it = &app.catalog;
    let end = Instant::now() + app.config.catalog_wait;
    let Some(lock) = it.lock(&app.config.keyspace, id) else { return without(app, id).await };
    loop {
        match cached(app, id).await {
            Err(Away) => return without(app, id).await,
            Ok(Some((Step::Tell, entry))) => return Ok(entry),
            Ok(Some((Step::TellAndRebuild, entry))) => {
                let (app, id) = (Arc::clone(app), id.clone());
                tokio::spawn(async move {
                    if let Ok(_guard) = lock.acquire(Wait::none()).await {
                        let _ = rebuild(&app, &id).await;
                    }
                });
                return Ok(entry);
            }
            Ok(_) => {}
        }
        match lock.acquire(Wait::none()).await {
            Ok(guard) => {
                let made = rebuild(app, id).await;
                // It ends by itself otherwise.
                let _ = guard.release().await;
                return made;
            }
            Err(NotAcquired::Busy { .. }) if Instant::now() < end => {
                it.counts.waited();
                tokio::time::sleep(PAUSE).await;
            }
            Err(_) => return without(app, id).await,
        }
    }
}

/// Redis' entry, and what to do with it. What is told is kept as a copy.
async fn cached(app: &App, id: &Sku) -> Result<Option<(Step, Arc<Entry>)>, Away> {
    let it = &app.catalog;
    if !it.may_ask(app.now()) {
        return Err(Away);
    }
    let asked = timeout(app.config.catalog_answer, app.redis.entry(&app.config.keyspace, id)).await;
    let answered = matches!(asked, Ok(Ok(_)));
    it.asked(answered, app.now());
    let Ok(Ok(text)) = asked else { return Err(Away) };
    // What cannot be read was written by another version: it is made anew.
    let Some(entry) = text.and_then(|text| serde_json::from_str::<Entry>(&text).ok()) else { return Ok(None) };
    let entry = Arc::new(entry);
    let mut step = entry.step(it.memory.floor(id), app.now());
    if step != Step::Rebuild && !it.memory.keep(id, &entry, app.now()) {
        // Something newer was heard of meanwhile.
        step = Step::Rebuild;
    }
    if step != Step::Rebuild {
        it.counts.answered(Layer::Redis);
    }
    Ok(Some((step, entry)))
}

/// Makes Redis' entry anew. To be called under the lock.
async fn rebuild(app: &App, id: &Sku) -> Result<Arc<Entry>, Busy> {
    if let Ok(Some((Step::Tell, entry))) = cached(app, id).await {
        return Ok(entry);
    }
    app.catalog.counts.rebuilt();
    let mut tries_left = 3u32;
    loop {
        let (entry, ttl) = read(app, id).await?;
        let text = serde_json::to_string(&*entry).unwrap_or_default();
        let fill = app.redis.fill(&app.config.keyspace, id, entry.version(), &text, ttl);
        let filled = timeout(app.config.catalog_answer, fill).await;
        let is_outdated = matches!(filled, Ok(Ok(false))) || !app.catalog.memory.keep(id, &entry, app.now());
        if !is_outdated {
            return Ok(entry);
        }
        tries_left = tries_left.saturating_sub(1);
        if tries_left == 0 {
            return stopgap(app, id);
        }
    }
}

/// Without Redis or its locks: an old copy while that is allowed, else SQL, by a few at a time.
async fn without(app: &App, id: &Sku) -> Result<Arc<Entry>, Busy> {
    let it = &app.catalog;
    if let Ok(entry) = stopgap(app, id) {
        return Ok(entry);
    }
    let Ok(Ok(_permit)) = timeout(PATIENCE, it.direct.acquire()).await else {
        it.counts.refused(Refusal::Bound);
        return Err(BUSY);
    };
    let (entry, _) = read(app, id).await?;
    if it.memory.keep(id, &entry, app.now()) { Ok(entry) } else { stopgap(app, id) }
}

/// A copy that is past its time, but not past every use.
fn stopgap(app: &App, id: &Sku) -> Result<Arc<Entry>, Busy> {
    let it = &app.catalog;
    let (worth, entry) = it.memory.copy(id, it.hears(), app.now()).ok_or(BUSY)?;
    if worth == Worth::Nothing {
        return Err(BUSY);
    }
    it.counts.answered(Layer::Stale);
    Ok(entry)
}

/// The lower half of an ULID is chance.
pub(crate) fn chance() -> u64 {
    u64::try_from(u128::from(ulid::Ulid::generate()) & u128::from(u64::MAX)).unwrap_or(0)
}

/// What SQL says.
async fn read(app: &App, id: &Sku) -> Result<(Arc<Entry>, Millis), Busy> {
    app.catalog.counts.sql_read();
    match app.sql.product(id).await {
        Ok(product) => {
            app.catalog.counts.answered(Layer::Sql);
            let (entry, ttl) = Entry::new(product, app.now(), chance());
            Ok((Arc::new(entry), ttl))
        }
        Err(error) => {
            tracing::warn!(%id, error = format!("{error:#}"), "a product cannot be read");
            Err(BUSY)
        }
    }
}
