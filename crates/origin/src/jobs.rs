//! Work that one origin at a time does: under a lock in Redis, or under a lease in SQL while Redis is away.
//!
//! Each job is safe to be done twice; the lock only saves doing it twice.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use sluice_lock::{Job, Locks, Monitor, Scan, Terms, Turn};

use crate::app::App;
use crate::redis::link::Link;
use crate::redis::locks::locks;
use crate::shutdown::Shutdown;
use crate::sql::Sql;

/// The longest that a turn should take; it ends at twice that.
const TOO_LONG: Duration = Duration::from_secs(600);
/// No turn waits for longer: a lock is held for 7 days at most.
const LONGEST: Duration = Duration::from_secs(6 * 24 * 3600);
/// How often holds and stray locks are looked for.
const WATCH: Duration = Duration::from_secs(15);
/// Keys that one look for stray locks has Redis go through.
const LOOK: usize = 1_000;

/// What the origin does one process at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Cancels what was not paid in time.
    Due,
    /// Carries out what SQL has decided.
    Outbox,
    /// Delivers events.
    Events,
    /// Compares the books.
    Reconcile,
}

impl Name {
    const ALL: [Self; 4] = [Self::Due, Self::Outbox, Self::Events, Self::Reconcile];

    fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Outbox => "outbox",
            Self::Events => "events",
            Self::Reconcile => "reconcile",
        }
    }
}

/// What came of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Had<T> {
    /// It was this process's turn, and this is the result.
    Turn(T),
    /// Another has it, or nobody can say who; it comes again.
    None,
}

/// The jobs of one process.
pub(crate) struct Jobs {
    all: Vec<(Name, Job<Sql>)>,
    scan: Mutex<Option<Scan>>,
    monitor: Monitor,
    registry: Registry,
}

impl Jobs {
    /// Jobs whose holder counts as dead after `ttl`. `longest` is how long a turn may wait by itself.
    pub(crate) fn new(
        link: &Arc<Link>,
        keys: &Keyspace,
        sql: &Sql,
        ttl: Duration,
        longest: Duration,
    ) -> anyhow::Result<Self> {
        let longest = longest.min(LONGEST);
        let monitor = Monitor::new(longest + TOO_LONG);
        let locks: Locks = locks(link, keys, Partition(0), &monitor)?;
        let terms = Terms::new(ttl).and_then(|terms| terms.renewed_up_to(longest + TOO_LONG * 2));
        let terms = terms.context("the terms of the jobs' locks are none")?;
        let job = |name: Name| anyhow::Ok((name, Job::new(locks.simple(name.as_str(), terms)?, sql.clone())));
        let mut registry = Registry::with_prefix("sluice_origin");
        monitor.register(&mut registry);
        Ok(Self {
            all: Name::ALL.into_iter().map(job).collect::<Result<_, _>>()?,
            scan: Mutex::new(Some(locks.scan())),
            monitor,
            registry,
        })
    }

    /// Does the work, if no other origin does.
    pub(crate) async fn turn<T: Send>(&self, name: Name, work: impl Future<Output = T> + Send) -> Had<T> {
        let Some((_, job)) = self.all.iter().find(|(known, _)| *known == name) else { return Had::None };
        match job.run(|_| work).await {
            Ok(Turn::Done(done)) => return Had::Turn(done),
            Ok(Turn::Elsewhere) => {}
            Ok(Turn::Lost) => tracing::warn!(job = name.as_str(), "a job lost its lock, and was stopped"),
            Err(error) => {
                tracing::warn!(job = name.as_str(), error = format!("{:#}", anyhow::Error::from(error)), "a job waits");
            }
        }
        Had::None
    }

    /// The locks' metrics, in Prometheus' text form.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text.trim_end().trim_end_matches("# EOF").to_owned()
    }

    /// Tells what makes the locks of this process.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    fn scan(&self) -> Option<Scan> {
        self.scan.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Warns of what is held too long, and of locks that nothing would free, until the shutdown.
pub(crate) async fn watch(app: Arc<App>, mut shutdown: Shutdown) {
    let Some(mut scan) = app.jobs.scan() else { return shutdown.wait().await };
    while !shutdown.sleep(WATCH).await {
        app.jobs.monitor().check();
        if let Err(error) = scan.step(LOOK).await {
            tracing::debug!(%error, "locks without a TTL cannot be looked for");
        }
    }
}
