//! A hold on a lock: what renews it and gives it up. Both act only where the lock is still the holder's, so each may
//! run twice, or late, without harm to the next holder.

use crate::error::Fault;
use crate::guard::Released;
use crate::keys::Keys;
use crate::redlock::Nodes;
use crate::script;
use crate::store::Store;
use crate::terms::millis;
use crate::token::Token;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// One hold, of any kind.
#[derive(Debug)]
pub(crate) enum Hold {
    /// A key that holds the token.
    Single { store: Store, keys: Arc<Keys>, token: Token },
    /// The same, by way of the queue.
    Queued { store: Store, keys: Arc<Keys>, token: Token },
    /// One level of a reentrant lock.
    Level { store: Store, keys: Arc<Keys>, level: Token },
    /// A key on most of several servers.
    Quorum { nodes: Arc<Nodes>, keys: Arc<Keys>, token: Token },
}

impl Hold {
    /// Sets the lease to `ttl` from now; false when the lock is not the holder's any more.
    pub(crate) async fn renew(&self, ttl: Duration) -> Result<bool, Fault> {
        let ttl = millis(ttl).to_string();
        let renewed = match self {
            Self::Single { store, keys, token } | Self::Queued { store, keys, token } => {
                store.eval::<i64>(&script::RENEW, &[&keys.lock], &[token.as_str(), &ttl]).await
            }
            Self::Level { store, keys, level } => {
                store.eval::<i64>(&script::RENEW_LEVEL, &[&keys.lock], &[level.as_str(), &ttl]).await
            }
            Self::Quorum { nodes, keys, token } => {
                return nodes.agree(&script::RENEW, keys, &[token.as_str(), &ttl]).await;
            }
        };
        match renewed {
            Ok(renewed) => Ok(renewed == 1),
            Err(fault) if fault.is_other_kind() => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Gives the lock up, and tells whether it was still held.
    pub(crate) async fn release(&self) -> Result<Released, Fault> {
        let left = match self {
            Self::Single { store, keys, token } | Self::Queued { store, keys, token } => {
                store.eval::<i64>(&script::RELEASE, &[&keys.lock], &[token.as_str()]).await.map(|freed| freed - 1)
            }
            Self::Level { store, keys, level } => {
                store.eval::<i64>(&script::LEAVE, &[&keys.lock], &[level.as_str()]).await
            }
            Self::Quorum { nodes, keys, token } => {
                let freed = nodes.agree(&script::RELEASE, keys, &[token.as_str()]).await?;
                return Ok(if freed { Released::Freed } else { Released::Lapsed });
            }
        };
        match left {
            Ok(0) => Ok(Released::Freed),
            Ok(left) => Ok(u32::try_from(left).map_or(Released::Lapsed, |levels| Released::Inner { levels })),
            Err(fault) if fault.is_other_kind() => Ok(Released::Lapsed),
            Err(fault) => Err(fault),
        }
    }

    /// Takes back an attempt whose outcome nobody knows, and a place in the queue.
    async fn abandon(&self) {
        let outcome = match self {
            Self::Queued { store, keys, token } => {
                let places: [&str; 3] = [&keys.lock, &keys.queue, &keys.alive];
                store.eval::<i64>(&script::ABANDON, &places, &[token.as_str()]).await.map(|_| ())
            }
            _ => self.release().await.map(|_| ()),
        };
        if let Err(fault) = outcome {
            tracing::debug!(%fault, "an attempt at a lock is left to its ttl");
        }
    }
}

/// An attempt. Unless it is settled, it is taken back when it is dropped: after a fault, and when whoever waits for the
/// lock is cancelled. Otherwise a lock could be taken that nobody knows of.
pub(crate) struct Attempt {
    hold: Arc<Hold>,
    runtime: Handle,
    open: bool,
}

impl Attempt {
    /// Nothing was sent yet.
    pub(crate) fn new(hold: Hold) -> Self {
        Self { hold: Arc::new(hold), runtime: Handle::current(), open: false }
    }

    /// From here on Redis may have been asked.
    pub(crate) fn begin(&mut self) {
        self.open = true;
    }

    /// Redis has answered that nothing was taken.
    pub(crate) fn refused(&mut self) {
        self.open = false;
    }

    /// The lock was given: its release is the guard's from now on.
    pub(crate) fn granted(mut self) -> Arc<Hold> {
        self.open = false;
        Arc::clone(&self.hold)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.open {
            let hold = Arc::clone(&self.hold);
            self.runtime.spawn(async move { hold.abandon().await });
        }
    }
}
