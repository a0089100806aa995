//! First come, first served.

use crate::error::{Fault, Invalid, NotAcquired};
use crate::guard::Guard;
use crate::hold::{Attempt, Hold};
use crate::locks::{Lock, fence_of};
use crate::script;
use crate::terms::{millis, within};
use crate::token::Token;
use crate::wait::{Wait, chance};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const SILENCE: Duration = Duration::from_secs(2);

/// A lock that is given to its waiters in the order in which they came. A waiter that is silent for too long counts as
/// dead and loses its place. Made by [`Locks::fair`](crate::Locks::fair).
#[derive(Debug, Clone)]
pub struct Fair {
    lock: Lock,
    silence: Duration,
}

impl Fair {
    pub(crate) fn new(lock: Lock) -> Self {
        Self { lock, silence: SILENCE }
    }

    /// How long a waiter of this process may be silent, 30 ms to 60 s; 2 s unless this is called. The others wait so
    /// long for one that died.
    ///
    /// # Errors
    /// When it is shorter or longer.
    pub fn with_silence(mut self, silence: Duration) -> Result<Self, Invalid> {
        within("a silence", silence, Duration::from_millis(30), Duration::from_secs(60))?;
        self.silence = silence;
        Ok(self)
    }

    /// Takes the lock when it is this caller's turn. Whoever gives up, or is cancelled, leaves the queue.
    ///
    /// # Errors
    /// When the turn did not come in time, or when Redis fails, which is not waited for.
    pub async fn acquire(&self, wait: Wait) -> Result<Guard, NotAcquired> {
        self.acquire_reporting(wait, |_| {}).await
    }

    /// The same; `report` is told whenever the number of waiters before this one changes.
    ///
    /// # Errors
    /// As [`Fair::acquire`].
    pub async fn acquire_reporting(&self, wait: Wait, report: impl FnMut(u64) + Send) -> Result<Guard, NotAcquired> {
        let outcome = self.queue(wait, report).await;
        if let Err(failure) = &outcome {
            self.lock.watch.failed(failure);
        }
        outcome
    }

    async fn queue(&self, wait: Wait, mut report: impl FnMut(u64) + Send) -> Result<Guard, NotAcquired> {
        let Lock { store, keys, terms, watch } = &self.lock;
        let waiting = Instant::now();
        let token = Token::random()?;
        let hold = Hold::Queued { store: store.clone(), keys: Arc::clone(keys), token: token.clone() };
        // Not settled until the lock is given: a place in the queue is to be left too.
        let mut attempt = Attempt::new(hold);
        attempt.begin();
        let mut reported = None;
        loop {
            let asked = Instant::now();
            match self.turn(&token).await? {
                Turn::Granted(fence) => {
                    let fence = fence_of(&fence)?;
                    return Ok(watch.granted(attempt.granted(), &keys.name, *terms, asked, waiting, fence)?);
                }
                Turn::After(before) => {
                    if reported.replace(before) != Some(before) {
                        report(before);
                    }
                    let Some(pause) = wait.turn(before, self.silence, waiting.elapsed(), chance()) else {
                        return Err(NotAcquired::Busy { waited: waiting.elapsed() });
                    };
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// Asks once.
    async fn turn(&self, token: &Token) -> Result<Turn, Fault> {
        let Lock { store, keys, terms, .. } = &self.lock;
        let all: [&str; 4] = [&keys.lock, &keys.queue, &keys.alive, &keys.fence];
        let needed = if terms.is_fenced() { &all[..] } else { &all[..3] };
        let times = [millis(terms.ttl()), millis(self.silence)].map(|ms| ms.to_string());
        let arguments = [token.as_str(), &times[0], &times[1]];
        let (granted, before, fence): (u8, u64, String) = store.eval(&script::QUEUE, needed, &arguments).await?;
        Ok(if granted == 1 { Turn::Granted(fence) } else { Turn::After(before) })
    }
}

/// What the queue says.
enum Turn {
    /// The lock is the caller's; its number, or nothing.
    Granted(String),
    /// So many waiters come first, besides the holder.
    After(u64),
}
