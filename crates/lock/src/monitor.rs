//! What locks tell of themselves: how long they are waited for and held, what is held too long, what would never end.

mod holds;
mod scan;

pub use scan::{Scan, Scanned};

use crate::error::NotAcquired;
use crate::guard::Released;
use holds::Holds;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const SECONDS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];

/// No label holds a name: names may be many.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failure {
    kind: &'static str,
    reason: &'static str,
}

type Seconds = Family<Kind, Histogram, fn() -> Histogram>;

/// Counts acquisitions and watches holds. Clones are one monitor.
#[derive(Debug, Clone)]
pub struct Monitor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    too_long: Duration,
    holds: Mutex<Holds>,
    wait_seconds: Seconds,
    hold_seconds: Seconds,
    not_acquired: Family<Failure, Counter>,
    lost: Family<Kind, Counter>,
    held_too_long: Family<Kind, Counter>,
    held: Family<Kind, Gauge>,
    without_ttl: Gauge,
}

impl Monitor {
    /// A monitor that warns of holds of so long and more.
    #[must_use]
    pub fn new(too_long: Duration) -> Self {
        let seconds = || Seconds::new_with_constructor(|| Histogram::new(SECONDS));
        Self(Arc::new(Inner {
            too_long,
            holds: Mutex::default(),
            wait_seconds: seconds(),
            hold_seconds: seconds(),
            not_acquired: Family::default(),
            lost: Family::default(),
            held_too_long: Family::default(),
            held: Family::default(),
            without_ttl: Gauge::default(),
        }))
    }

    /// Adds the metrics to a registry, which gives them their prefix.
    pub fn register(&self, registry: &mut Registry) {
        let it = &self.0;
        registry.register("lock_wait_seconds", "From asking for a lock to having it", it.wait_seconds.clone());
        registry.register("lock_hold_seconds", "From having a lock to its release", it.hold_seconds.clone());
        registry.register("lock_not_acquired", "Locks that were asked for in vain", it.not_acquired.clone());
        registry.register("lock_lost", "Leases that were over before the release", it.lost.clone());
        registry.register("lock_held_too_long", "Holds beyond the threshold", it.held_too_long.clone());
        registry.register("lock_held", "Locks that are held now", it.held.clone());
        registry.register("lock_keys_without_ttl", "Locks that nothing would ever free", it.without_ttl.clone());
    }

    /// Looks at all holds of this process, and warns once of each that has lasted too long. How many are too long now.
    pub fn check(&self) -> usize {
        let (overdue, all) = self.holds().overdue(Instant::now(), self.0.too_long);
        for hold in overdue {
            let seconds = hold.lasted.as_secs();
            tracing::warn!(lock = hold.name, kind = hold.kind, seconds, "a lock is held too long");
            self.0.held_too_long.get_or_create(&Kind { kind: hold.kind }).inc();
        }
        all
    }

    /// Checks again and again, for ever: to be spawned.
    pub async fn watch(self, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            self.check();
        }
    }

    pub(crate) fn acquired(&self, kind: &'static str, name: &str, waiting: Instant) -> Note {
        let now = Instant::now();
        self.0.wait_seconds.get_or_create(&Kind { kind }).observe((now - waiting).as_secs_f64());
        self.0.held.get_or_create(&Kind { kind }).inc();
        Note { monitor: self.clone(), id: self.holds().begin(kind, name, now) }
    }

    pub(crate) fn not_acquired(&self, kind: &'static str, failure: &NotAcquired) {
        let reason = match failure {
            NotAcquired::Busy { .. } => "busy",
            NotAcquired::Unavailable(_) => "unavailable",
        };
        self.0.not_acquired.get_or_create(&Failure { kind, reason }).inc();
    }

    fn found_without_ttl(&self, keys: usize) {
        self.0.without_ttl.set(i64::try_from(keys).unwrap_or(i64::MAX));
    }

    fn holds(&self) -> MutexGuard<'_, Holds> {
        self.0.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One hold, as the monitor knows it. It ends when it is released, or else when this is dropped.
#[derive(Debug)]
pub(crate) struct Note {
    monitor: Monitor,
    id: u64,
}

impl Note {
    /// The lease was over while the guard lived.
    pub(crate) fn lost(&self) {
        let first = self.monitor.holds().lost(self.id);
        if let Some(kind) = first {
            self.monitor.0.lost.get_or_create(&Kind { kind }).inc();
        }
    }

    pub(crate) fn released(&self, released: Released) {
        if !released.was_held() {
            self.lost();
        }
        self.end();
    }

    fn end(&self) {
        let ended = self.monitor.holds().end(self.id, Instant::now());
        if let Some((kind, lasted)) = ended {
            self.monitor.0.hold_seconds.get_or_create(&Kind { kind }).observe(lasted.as_secs_f64());
            self.monitor.0.held.get_or_create(&Kind { kind }).dec();
        }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        self.end();
    }
}
