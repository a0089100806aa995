//! Products as everybody reads them: an argument check, a filter of the ids that there are, copies in this process,
//! entries in Redis, and SQL behind them.
//!
//! `entry` decides what an entry is good for; `memory` and `filter` are what this process knows; `read` is the way of a
//! request through the layers; `news` hears of changes. Stock is never told from here, nor is what an order costs.

mod counts;
pub(crate) mod entry;
mod filter;
mod memory;
pub(crate) mod news;
pub(crate) mod read;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use sluice::model::{Millis, Sku};
use sluice::script::keys::Keyspace;
use sluice::shed::breaker::{Breaker, Permit, Terms as BreakerTerms};
use sluice_lock::{Locks, Monitor, Simple, Terms};
use tokio::sync::Semaphore;

pub(crate) use counts::{Counts, Refusal};
use filter::Filter;
use memory::Memory;

use crate::redis::link::Link;
use crate::redis::locks::locks;

/// Requests that may read SQL at once without a lock.
const DIRECT: usize = 8;
/// After so long another process makes an entry anew that one has died over.
const REBUILD: Duration = Duration::from_secs(3);
/// The longest that making one may take.
const LONGEST: Duration = Duration::from_secs(30);
/// When Redis counts as away, and for how long it is left alone.
const BREAKER: BreakerTerms = BreakerTerms { failures: 3, open: Millis(500), probe: Millis(1_000) };

/// The catalog of one process.
pub(crate) struct Catalog {
    memory: Memory,
    filter: Filter,
    pub(crate) counts: Counts,
    breaker: Mutex<Breaker>,
    /// By partition.
    locks: Vec<Locks>,
    terms: Terms,
    direct: Semaphore,
    /// Whether changes are heard of as they happen.
    hears: AtomicBool,
}

impl Catalog {
    /// Knows nothing yet.
    pub(crate) fn new(link: &Arc<Link>, keys: &Keyspace, monitor: &Monitor) -> anyhow::Result<Self> {
        Ok(Self {
            memory: Memory::new(),
            filter: Filter::default(),
            counts: Counts::default(),
            breaker: Mutex::new(Breaker::new(BREAKER)),
            locks: keys.partitions().map(|p| locks(link, keys, p, monitor)).collect::<Result<_, _>>()?,
            terms: Terms::new(REBUILD)
                .and_then(|terms| terms.renewed_up_to(LONGEST))
                .context("the terms of the catalog's locks are none")?,
            direct: Semaphore::new(DIRECT),
            hears: AtomicBool::new(false),
        })
    }

    /// A product was made or changed, here or elsewhere.
    pub(crate) fn heard(&self, id: &Sku, version: u64) {
        self.filter.add(id.as_str());
        self.memory.outdate(id, version);
    }

    fn hears(&self) -> bool {
        self.hears.load(Ordering::Relaxed)
    }

    /// The lock of whoever makes a product's entry anew.
    fn lock(&self, keys: &Keyspace, id: &Sku) -> Option<Simple> {
        let locks = self.locks.get(usize::from(keys.partition_of(id).0))?;
        locks.simple(&format!("product:{}", id.as_str()), self.terms).ok()
    }

    fn may_ask(&self, now: Millis) -> bool {
        self.breaker().permit(now) == Permit::Ask
    }

    fn asked(&self, answered: bool, now: Millis) {
        if answered { self.breaker().answered() } else { self.breaker().failed(now) }
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
