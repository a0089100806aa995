//! A lock that is held.

use crate::error::Fault;
use crate::fence::Fence;
use crate::hold::Hold;
use crate::lease::Lease;
use crate::monitor::Note;
use crate::terms::Terms;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A lock that is held, as far as this process can know. Dropping it releases the lock in the background.
///
/// Keep it until the work is done: `let _ = lock.acquire(..)` would release at once.
#[must_use = "the lock is released when the guard is dropped"]
#[derive(Debug)]
pub struct Guard {
    hold: Arc<Hold>,
    lease: Arc<Lease>,
    terms: Terms,
    fence: Option<Fence>,
    note: Option<Arc<Note>>,
    keeper: OnceLock<AbortHandle>,
    runtime: Handle,
    /// Whether the release is still to be sent.
    armed: bool,
}

/// What a release found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// The lock was held and is free now.
    Freed,
    /// The level was held, and the owner still holds the lock by so many other levels.
    Inner {
        /// Levels that are left.
        levels: u32,
    },
    /// The lease was over before: the lock is free, or another's, and was left alone. What the work did since may have
    /// met another's work.
    Lapsed,
}

impl Released {
    /// Whether the lock was held until the release.
    #[must_use]
    pub fn was_held(self) -> bool {
        self != Self::Lapsed
    }
}

/// The lease was lost while work ran under it. The work was dropped at its next await.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease of the lock was lost")]
pub struct Lost;

impl Guard {
    pub(crate) fn new(
        hold: Arc<Hold>,
        terms: Terms,
        begun: Instant,
        valid: Duration,
        fence: Option<Fence>,
        note: Option<Note>,
    ) -> Self {
        let guard = Self {
            hold,
            lease: Arc::new(Lease::new(begun, valid)),
            terms,
            fence,
            note: note.map(Arc::new),
            keeper: OnceLock::new(),
            runtime: Handle::current(),
            armed: true,
        };
        if terms.longest_hold().is_some() {
            guard.keep();
        }
        guard
    }

    /// Is cancelled when the lease is over: lost to another, run out, at its longest hold, or released. A little before
    /// Redis lets go, where this process can tell.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        self.keep();
        self.lease.lost().clone()
    }

    /// How long the lock is surely held, by this process' clock and without asking. Zero: stop.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.lease.remaining()
    }

    /// The number of this acquisition, where the terms ask for one.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Runs work for as long as the lease lasts. When it is lost, the work is dropped where it waits.
    ///
    /// # Errors
    /// [`Lost`].
    pub async fn while_held<T>(&self, work: impl Future<Output = T>) -> Result<T, Lost> {
        let lost = self.lost();
        tokio::select! {
            biased;
            () = lost.cancelled() => Err(Lost),
            done = work => Ok(done),
        }
    }

    /// Gives the lease its whole ttl again, by hand. False when it is over.
    ///
    /// # Errors
    /// When Redis does not answer; the lease that was there still runs.
    pub async fn renew(&self) -> Result<bool, Fault> {
        let renewed = self.lease.renew(&self.hold, self.terms).await?;
        if !renewed {
            self.lease.lost().cancel();
        }
        Ok(renewed)
    }

    /// Releases the lock, and tells whether it was still held. Cancelled half-way, it goes on in the background.
    ///
    /// # Errors
    /// When Redis does not answer: then the lock is free at the end of its lease.
    pub async fn release(mut self) -> Result<Released, Fault> {
        self.stop_keeping();
        let released = self.hold.release().await?;
        self.armed = false;
        if let Some(note) = &self.note {
            note.released(released);
        }
        Ok(released)
    }

    /// Starts what watches the lease, unless it runs.
    fn keep(&self) {
        self.keeper.get_or_init(|| {
            let (lease, hold, terms, note) =
                (Arc::clone(&self.lease), Arc::clone(&self.hold), self.terms, self.note.clone());
            let keeper = self.runtime.spawn(async move {
                lease.keep(hold, terms).await;
                if let Some(note) = note {
                    note.lost();
                }
            });
            keeper.abort_handle()
        });
    }

    fn stop_keeping(&self) {
        if let Some(keeper) = self.keeper.get() {
            keeper.abort();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop_keeping();
        self.lease.lost().cancel();
        if self.armed {
            let (hold, note) = (Arc::clone(&self.hold), self.note.clone());
            self.runtime.spawn(async move {
                let outcome = hold.release().await;
                if let (Ok(released), Some(note)) = (&outcome, &note) {
                    note.released(*released);
                }
                if let Err(fault) = outcome {
                    tracing::debug!(%fault, "a lock could not be released and is left to its ttl");
                }
            });
        }
    }
}
