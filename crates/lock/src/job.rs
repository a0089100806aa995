//! Work that one process at a time should do: under a lock, or under a lease kept elsewhere when Redis is away.

use crate::error::{Fault, NotAcquired};
use crate::fence::Fence;
use crate::guard::Guard;
use crate::simple::Simple;
use crate::terms::Terms;
use crate::token::Owner;
use crate::validity::validity;
use crate::wait::Wait;
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// A lease kept elsewhere, usually a row in SQL. It is asked only when Redis is away.
pub trait Fallback: Send + Sync {
    /// What can go wrong there.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Takes the lease for `holder`, or renews it if `holder` has it; false when another has it. One conditional
    /// statement, by the database's clock.
    fn take(&self, name: &str, holder: &str, ttl: Duration) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Gives it up, if `holder` has it.
    fn give_up(&self, name: &str, holder: &str) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What became of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn<T> {
    /// The work was done.
    Done(T),
    /// Another process does it.
    Elsewhere,
    /// The lease was lost before the work was done, and the work dropped where it waited.
    Lost,
}

/// Why there was no turn.
#[derive(Debug, thiserror::Error)]
pub enum Trouble<E: std::error::Error + 'static> {
    /// Neither Redis nor the other place can be asked.
    #[error("locks are unavailable ({lock}), and so is the lease that stands in")]
    Fallback {
        /// What Redis said.
        lock: Fault,
        /// What the other place said.
        #[source]
        fallback: E,
    },
}

/// Work under a lock, with a lease elsewhere for when Redis is away.
///
/// While only some of the processes reach Redis, one can hold the lock and another the lease. So the work itself must
/// be safe to run twice, by constraints in SQL; this only saves doing it twice.
#[derive(Debug, Clone)]
pub struct Job<F> {
    lock: Simple,
    fallback: F,
}

impl<F: Fallback> Job<F> {
    /// A job. The lock's terms also bound the lease elsewhere; they should renew, up to the longest run of the work.
    pub fn new(lock: Simple, fallback: F) -> Self {
        Self { lock, fallback }
    }

    /// Does the work, if no other process does. It is given the number of the acquisition, where there is one.
    ///
    /// # Errors
    /// When neither Redis nor the other place answers.
    pub async fn run<T, W>(&self, work: impl FnOnce(Option<Fence>) -> W + Send) -> Result<Turn<T>, Trouble<F::Error>>
    where
        W: Future<Output = T> + Send,
        T: Send,
    {
        match self.lock.acquire(Wait::none()).await {
            Ok(guard) => Ok(under_lock(guard, work).await),
            Err(NotAcquired::Busy { .. }) => Ok(Turn::Elsewhere),
            Err(NotAcquired::Unavailable(lock)) => {
                self.under_fallback(work).await.map_err(|fallback| Trouble::Fallback { lock, fallback })
            }
        }
    }

    async fn under_fallback<T, W>(&self, work: impl FnOnce(Option<Fence>) -> W + Send) -> Result<Turn<T>, F::Error>
    where
        W: Future<Output = T> + Send,
        T: Send,
    {
        // Without randomness there is no holder to be told from others, and so no turn.
        let Ok(holder) = Owner::random() else {
            return Ok(Turn::Elsewhere);
        };
        let (name, terms) = (self.lock.name(), self.lock.terms());
        let asked = Instant::now();
        if !self.fallback.take(name, holder.as_str(), terms.ttl()).await? {
            return Ok(Turn::Elsewhere);
        }
        let turn = {
            let work = pin!(work(None));
            tokio::select! {
                biased;
                () = self.keep(&holder, terms, asked) => Turn::Lost,
                done = work => Turn::Done(done),
            }
        };
        // The work is done, whether or not this succeeds; the lease ends by itself.
        if self.fallback.give_up(name, holder.as_str()).await.is_err() {
            tracing::debug!(job = name, "a lease that stood in for a lock is left to its ttl");
        }
        Ok(turn)
    }

    /// Renews the lease elsewhere as the watchdog does in Redis, and returns when it is lost or may not be longer.
    async fn keep(&self, holder: &Owner, terms: Terms, begun: Instant) {
        let end = begun + terms.longest_hold().unwrap_or(terms.ttl());
        let valid = |asked: Instant| validity(terms.ttl(), asked.elapsed()).map(|left| Instant::now() + left);
        let mut ends = valid(begun).unwrap_or(begun);
        loop {
            tokio::time::sleep(terms.ttl() / 3).await;
            let asked = Instant::now();
            if asked >= ends.min(end) {
                return;
            }
            let taking = self.fallback.take(self.lock.name(), holder.as_str(), terms.ttl());
            match tokio::time::timeout_at(ends.min(end), taking).await {
                Ok(Ok(true)) => ends = valid(asked).unwrap_or(ends),
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(error)) => tracing::warn!(%error, "a lease that stands in for a lock could not be renewed"),
            }
        }
    }
}

async fn under_lock<T, W: Future<Output = T>>(guard: Guard, work: impl FnOnce(Option<Fence>) -> W) -> Turn<T> {
    let turn = match guard.while_held(work(guard.fence())).await {
        Ok(done) => Turn::Done(done),
        Err(_) => Turn::Lost,
    };
    if let Err(fault) = guard.release().await {
        tracing::debug!(%fault, "a lock could not be released and is left to its ttl");
    }
    turn
}
