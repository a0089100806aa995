//! Faults at every await point of the adapters: a call to Redis or SQL is not sent, or is done and its answer is lost, or
//! is done late, or is where the whole process stops.
//!
//! Every call of a thread is counted, and a [`Plan`] says what happens to the n-th. An origin runs on a thread of its own,
//! so it has a plan of its own; where it "stops", its runtime is dropped with everything that waits in it, as a kill
//! would do. The crowd, the clients and the judge are those of `cargo xtask faults`.

mod incarnation;
pub(crate) mod redis;
mod schedule;
pub(crate) mod sql;
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// It is not sent.
    Refuse,
    /// It is done, and its answer is lost.
    LoseAnswer,
    /// Its caller gives up at once; it is done so many ms later all the same. (SQL has no such calls: a transaction ends
    /// with its caller. There it is not sent.)
    Late(u64),
    /// It takes so many ms longer, as in a process that is stopped for a while.
    Stall(u64),
    /// The process stops before it is sent.
    StopBefore,
    /// The process stops after it was done.
    StopAfter,
}

/// What happens to the calls of one origin.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    faults: HashMap<u64, Fault>,
    calls: AtomicU64,
    mended: AtomicBool,
    stop: Notify,
    /// What was met: the fault and the call.
    met: Mutex<BTreeMap<(&'static str, String), u64>>,
}

thread_local! {
    static PLAN: RefCell<Option<Arc<Plan>>> = const { RefCell::new(None) };
}

impl Plan {
    fn new(faults: HashMap<u64, Fault>) -> Arc<Self> {
        Arc::new(Self { faults, ..Self::default() })
    }

    /// This thread's calls follow it from now on.
    fn govern(self: &Arc<Self>) {
        PLAN.with_borrow_mut(|plan| *plan = Some(Arc::clone(self)));
    }

    /// From now on nothing happens to any call.
    fn mend(&self) {
        self.mended.store(true, Ordering::Relaxed);
    }

    /// Resolves when the process is to stop.
    async fn stopped(&self) {
        self.stop.notified().await;
    }

    fn next(&self, call: impl FnOnce() -> String) -> Option<Fault> {
        let n = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let fault = self.faults.get(&n).copied().filter(|_| !self.mended.load(Ordering::Relaxed))?;
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        *met.entry((fault.name(), call())).or_default() += 1;
        Some(fault)
    }

    fn met(&self) -> BTreeMap<(&'static str, String), u64> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::LoseAnswer => "lose answer",
            Self::Late(_) => "late",
            Self::Stall(_) => "stall",
            Self::StopBefore => "stop before",
            Self::StopAfter => "stop after",
        }
    }
}

/// What happens to the next call of this thread; the process stops here where that is what happens before it.
pub(crate) async fn next(call: impl FnOnce() -> String) -> Option<Fault> {
    let plan = PLAN.with_borrow(Clone::clone)?;
    match plan.next(call)? {
        Fault::StopBefore => stop().await,
        Fault::Stall(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            None
        }
        other => Some(other),
    }
}

/// The process stops: nothing that waits here goes on.
pub(crate) async fn stop<T>() -> T {
    if let Some(plan) = PLAN.with_borrow(Clone::clone) {
        plan.stop.notify_one();
    }
    std::future::pending().await
}
