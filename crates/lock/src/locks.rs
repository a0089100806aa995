//! Where locks are made.

use crate::error::{Fault, Invalid, NotAcquired};
use crate::fair::Fair;
use crate::fence::Fence;
use crate::guard::Guard;
use crate::hold::Hold;
use crate::keys::{Keys, Keyspace};
use crate::monitor::{Monitor, Scan};
use crate::reentrant::Reentrant;
use crate::simple::Simple;
use crate::store::{Redis, Store};
use crate::terms::{LONGEST_TTL, Terms, within};
use crate::token::Owner;
use crate::validity::validity;
use crate::wait::{Wait, chance};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const TIMEOUT: Duration = Duration::from_secs(1);

/// Makes locks in one Redis. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Locks {
    store: Store,
    space: Keyspace,
    monitor: Option<Monitor>,
}

impl Locks {
    /// Locks whose keys begin with `prefix`: 1 to 64 bytes without braces, wildcards and white space.
    ///
    /// # Errors
    /// When the prefix is none.
    pub fn new(redis: impl Redis, prefix: &str) -> Result<Self, Invalid> {
        Ok(Self { store: Store::new(Arc::new(redis), TIMEOUT), space: Keyspace::new(prefix)?, monitor: None })
    }

    /// How long Redis may take to answer, 1 ms and more; 1 s unless this is called. Afterwards locks are unavailable.
    ///
    /// # Errors
    /// When it is shorter, or longer than any lease.
    pub fn with_timeout(mut self, timeout: Duration) -> Result<Self, Invalid> {
        within("a time-out", timeout, Duration::from_millis(1), LONGEST_TTL)?;
        self.store = self.store.with_timeout(timeout);
        Ok(self)
    }

    /// Puts the keys of all locks that are made from here on into the slot of one hash tag, 1 to 64 bytes without braces
    /// and white space: `<prefix>:lock:{<tag>}:<name>`. For programs that reach a cluster's slots by tags of their own.
    ///
    /// # Errors
    /// When the tag is none.
    pub fn with_tag(mut self, tag: &str) -> Result<Self, Invalid> {
        self.space = self.space.tagged(tag)?;
        Ok(self)
    }

    /// Counts and watches the locks that are made from here on.
    #[must_use]
    pub fn with_monitor(mut self, monitor: &Monitor) -> Self {
        self.monitor = Some(monitor.clone());
        self
    }

    /// A lock that one holder has at a time. The name has 1 to 256 bytes, without braces and white space; it is shown in
    /// logs.
    ///
    /// # Errors
    /// When the name is none.
    pub fn simple(&self, name: &str, terms: Terms) -> Result<Simple, Invalid> {
        let kind = if terms.longest_hold().is_some() { "watchdog" } else { "simple" };
        Ok(Simple(self.lock(name, terms, kind)?))
    }

    /// A lock that its owner may take again while it has it.
    ///
    /// # Errors
    /// When the name is none.
    pub fn reentrant(&self, name: &str, owner: &Owner, terms: Terms) -> Result<Reentrant, Invalid> {
        Ok(Reentrant { lock: self.lock(name, terms, "reentrant")?, owner: owner.clone() })
    }

    /// A lock that is given to its waiters in the order in which they came.
    ///
    /// # Errors
    /// When the name is none.
    pub fn fair(&self, name: &str, terms: Terms) -> Result<Fair, Invalid> {
        Ok(Fair::new(self.lock(name, terms, "fair")?))
    }

    /// Looks for locks without a TTL, which nothing would ever free.
    #[must_use]
    pub fn scan(&self) -> Scan {
        Scan::new(self.store.clone(), self.space.pattern(), self.monitor.clone())
    }

    fn lock(&self, name: &str, terms: Terms, kind: &'static str) -> Result<Lock, Invalid> {
        let keys = Arc::new(self.space.keys(name)?);
        Ok(Lock { store: self.store.clone(), keys, terms, watch: Watch { kind, monitor: self.monitor.clone() } })
    }
}

/// What every kind of lock in one Redis knows.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    pub(crate) store: Store,
    pub(crate) keys: Arc<Keys>,
    pub(crate) terms: Terms,
    pub(crate) watch: Watch,
}

/// Who is told of acquisitions.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) kind: &'static str,
    pub(crate) monitor: Option<Monitor>,
}

impl Watch {
    /// A lock was given: `asked` is when Redis was asked for it, `waiting` when the caller came.
    pub(crate) fn granted(
        &self,
        hold: Arc<Hold>,
        name: &str,
        terms: Terms,
        asked: Instant,
        waiting: Instant,
        fence: Option<Fence>,
    ) -> Result<Guard, Fault> {
        let elapsed = asked.elapsed();
        let Some(left) = validity(terms.ttl(), elapsed) else {
            tokio::spawn(async move { hold.release().await.is_ok() });
            return Err(Fault::TooSlow(elapsed));
        };
        let note = self.monitor.as_ref().map(|monitor| monitor.acquired(self.kind, name, waiting));
        Ok(Guard::new(hold, terms, asked, elapsed + left, fence, note))
    }

    /// Nothing came of it.
    pub(crate) fn failed(&self, failure: &NotAcquired) {
        if let Some(monitor) = &self.monitor {
            monitor.not_acquired(self.kind, failure);
        }
    }
}

/// The number in a reply; none in an empty text.
pub(crate) fn fence_of(text: &str) -> Result<Option<Fence>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(|number| Some(Fence::new(number))).map_err(|_| Fault::Reply("a fence"))
}

/// A lock that is tried until it is free.
pub(crate) trait Attempts {
    /// One attempt, for a caller that came at `waiting`. None: another has the lock.
    fn attempt(&self, waiting: Instant) -> impl Future<Output = Result<Option<Guard>, Fault>> + Send;

    fn watch(&self) -> &Watch;
}

/// Tries until the lock is had, the wait is over, or Redis fails.
pub(crate) async fn acquire(lock: &(impl Attempts + Sync), wait: Wait) -> Result<Guard, NotAcquired> {
    let waiting = Instant::now();
    let mut attempts = 0;
    let failure = loop {
        match lock.attempt(waiting).await {
            Ok(Some(guard)) => return Ok(guard),
            Ok(None) => {}
            Err(fault) => break NotAcquired::Unavailable(fault),
        }
        match wait.pause(attempts, waiting.elapsed(), chance()) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => break NotAcquired::Busy { waited: waiting.elapsed() },
        }
        attempts += 1;
    };
    lock.watch().failed(&failure);
    Err(failure)
}
