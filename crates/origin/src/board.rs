//! All sales at a glance, and which sell best: a snapshot that one request a second makes anew, from Redis' counts. While
//! Redis is away the last one is told, with its age.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde::Serialize;
use sluice::model::Millis;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::app::App;
use crate::domain::sale::{State, Status};
use crate::sql::sales::Listed;

/// How old a snapshot may become before it is made anew.
const FRESH: Millis = Millis(1_000);
/// How long making one may take.
const LIMIT: Duration = Duration::from_secs(1);
/// Sales that are told, the newest.
const MOST: usize = 200;

/// One sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    pub(crate) sku: String,
    pub(crate) title: String,
    pub(crate) price: u64,
    pub(crate) currency: String,
    pub(crate) state: &'static str,
    /// Units.
    pub(crate) sold: u64,
    pub(crate) starts_at: u64,
    pub(crate) ends_at: u64,
}

/// All of them, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// By this machine's clock.
    pub(crate) at: Millis,
    /// Whether Redis told what was sold; otherwise it is what SQL has settled.
    pub(crate) counted: bool,
    pub(crate) sales: Vec<Line>,
}

/// Neither Redis nor SQL told anything, and nothing is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

/// The last snapshot, and when one was last tried to be made.
#[derive(Default)]
pub(crate) struct Board {
    last: RwLock<Option<Arc<Snapshot>>>,
    tried: Mutex<Option<Millis>>,
}

impl Board {
    /// A snapshot: at most a second old while Redis is there.
    pub(crate) async fn read(&self, app: &App) -> Result<Arc<Snapshot>, Unknown> {
        let Some(last) = self.last() else {
            let mut tried = self.tried.lock().await;
            // Another may have made the first one meanwhile.
            return match self.last() {
                Some(last) => Ok(last),
                None => self.renew(app, &mut tried).await.ok_or(Unknown),
            };
        };
        // One makes it, the others are told the last one.
        if let Ok(mut tried) = self.tried.try_lock()
            && tried.is_none_or(|at| !is_fresh(at, app.now()))
            && let Some(made) = self.renew(app, &mut tried).await
        {
            return Ok(made);
        }
        Ok(last)
    }

    async fn renew(&self, app: &App, tried: &mut Option<Millis>) -> Option<Arc<Snapshot>> {
        *tried = Some(app.now());
        let made = match timeout(LIMIT, make(app)).await {
            Ok(Ok(made)) => made,
            Ok(Err(error)) => {
                tracing::warn!(error = format!("{error:#}"), "sales are told as they were");
                self.without_counts(app).await?
            }
            Err(_) => self.without_counts(app).await?,
        };
        let made = Arc::new(made);
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&made));
        Some(made)
    }

    /// What SQL alone can tell; only if there is nothing better to be told.
    async fn without_counts(&self, app: &App) -> Option<Snapshot> {
        if self.last().is_some_and(|last| last.counted) {
            return None;
        }
        let listed = app.sql.sales().await.ok()?;
        let now = app.now();
        let sales = told(listed).map(|listed| line(&listed, None, now)).collect();
        Some(Snapshot { at: now, counted: false, sales })
    }

    fn last(&self) -> Option<Arc<Snapshot>> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Snapshot {
    /// Whether it is as good as one that would be made now.
    pub(crate) fn is_current(&self, now: Millis) -> bool {
        self.counted && now.minus(self.at) < FRESH.plus(FRESH)
    }

    /// Those that have sold most, the first of them first.
    pub(crate) fn best(&self, most: usize) -> Vec<&Line> {
        let mut lines: Vec<&Line> = self.sales.iter().filter(|line| line.sold > 0).collect();
        lines.sort_by(|a, b| b.sold.cmp(&a.sold).then_with(|| a.sku.cmp(&b.sku)));
        lines.truncate(most);
        lines
    }
}

/// A clock that goes back makes it old, not eternal.
fn is_fresh(at: Millis, now: Millis) -> bool {
    at <= now && now < at.plus(FRESH)
}

fn told(listed: Vec<Listed>) -> impl Iterator<Item = Listed> {
    listed.into_iter().filter(|listed| listed.sale.status != Status::Closed).take(MOST)
}

async fn make(app: &App) -> anyhow::Result<Snapshot> {
    let at = app.now();
    let mut sales = Vec::new();
    for listed in told(app.sql.sales().await?) {
        let (now, stock) = app.redis.stock(&app.config.keyspace, &listed.sale.sku).await?;
        sales.push(line(&listed, stock, now));
    }
    Ok(Snapshot { at, counted: true, sales })
}

/// `stock` is what Redis has left; `None` where it does not have the sale, or is not asked.
fn line(listed: &Listed, stock: Option<i64>, now: Millis) -> Line {
    let Listed { sale, stock: settled, initial, .. } = listed;
    Line {
        sku: sale.sku.to_string(),
        title: sale.title.clone(),
        price: sale.terms.price,
        currency: sale.currency.clone(),
        state: State::of(sale, stock.or(Some(*settled)), now).as_str(),
        sold: u64::try_from(initial.saturating_sub(stock.unwrap_or(*settled))).unwrap_or(0),
        starts_at: sale.terms.starts_at.0,
        ends_at: sale.terms.ends_at.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sold(sku: &str, sold: u64) -> Line {
        let (title, currency) = (String::new(), String::new());
        Line { sku: sku.to_owned(), title, price: 1, currency, state: "open", sold, starts_at: 0, ends_at: 1 }
    }

    #[test]
    fn the_best_come_first_and_what_never_sold_is_not_among_them() {
        let sales = vec![sold("a", 1), sold("b", 0), sold("d", 5), sold("c", 5), sold("e", 9)];
        let snapshot = Snapshot { sales, ..Snapshot::default() };
        let skus: Vec<&str> = snapshot.best(3).iter().map(|line| line.sku.as_str()).collect();
        assert_eq!(skus, ["e", "c", "d"]);
        assert_eq!(snapshot.best(10).len(), 4);
    }

    #[test]
    fn a_snapshot_is_current_for_two_seconds_if_redis_counted() {
        let snapshot = |counted| Snapshot { at: Millis(1_000), counted, sales: Vec::new() };
        assert!(snapshot(true).is_current(Millis(2_999)) && !snapshot(true).is_current(Millis(3_000)));
        assert!(!snapshot(false).is_current(Millis(1_000)));
    }
}
