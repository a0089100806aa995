//! The time for which a hold may be relied on, by this process' own clock, and what renews it.

use crate::error::Fault;
use crate::hold::Hold;
use crate::terms::Terms;
use crate::validity::validity;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What is known of a lease without asking.
#[derive(Debug)]
pub(crate) struct Lease {
    /// When the lock was asked for: earlier than Redis gave it.
    begun: Instant,
    ends: Mutex<Instant>,
    lost: CancellationToken,
}

/// What the keeper of a lease does next; times are counted from when the lock was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Renew { at: Duration },
    End,
}

/// After a lease of `ttl` was last asked for at `asked`: when to renew it, or that nothing more can be had.
fn next(ttl: Duration, longest_hold: Option<Duration>, asked: Duration) -> Next {
    let at = asked + ttl / 3;
    match longest_hold {
        Some(longest) if asked + ttl < longest => Next::Renew { at },
        _ => Next::End,
    }
}

/// The lease to ask for so long after the lock was taken: never past the longest hold.
fn grant(ttl: Duration, longest_hold: Option<Duration>, held: Duration) -> Duration {
    longest_hold.map_or(ttl, |longest| ttl.min(longest.saturating_sub(held)))
}

impl Lease {
    /// A lease that was asked for at `begun` and may be relied on for `valid` after it.
    pub(crate) fn new(begun: Instant, valid: Duration) -> Self {
        Self { begun, ends: Mutex::new(begun + valid), lost: CancellationToken::new() }
    }

    pub(crate) fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// How much of it is left; nothing once it is lost.
    pub(crate) fn remaining(&self) -> Duration {
        if self.lost.is_cancelled() { Duration::ZERO } else { self.ends().saturating_duration_since(Instant::now()) }
    }

    fn ends(&self) -> Instant {
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a new lease. False when the lock is another's, or so little would be left that it cannot be relied on.
    pub(crate) async fn renew(&self, hold: &Hold, terms: Terms) -> Result<bool, Fault> {
        let asked = Instant::now();
        let ttl = grant(terms.ttl(), terms.longest_hold(), asked - self.begun);
        if self.lost.is_cancelled() || asked >= self.ends() || ttl.as_millis() == 0 {
            return Ok(false);
        }
        if !hold.renew(ttl).await? {
            return Ok(false);
        }
        if let Some(left) = validity(ttl, asked.elapsed()) {
            let ends = Instant::now() + left;
            let mut known = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            *known = ends.max(*known);
        }
        Ok(true)
    }

    /// Renews while the terms allow it, and cancels the token when the lease is lost or has run out. It is cancelled a
    /// little before Redis lets go.
    pub(crate) async fn keep(self: Arc<Self>, hold: Arc<Hold>, terms: Terms) {
        let mut asked = Duration::ZERO;
        let mut retry: Option<Instant> = None;
        loop {
            let at = match (next(terms.ttl(), terms.longest_hold(), asked), retry) {
                (Next::End, _) => return self.run_out().await,
                (Next::Renew { .. }, Some(at)) => at,
                (Next::Renew { at }, None) => self.begun + at,
            };
            tokio::time::sleep_until(at.min(self.ends())).await;
            let now = Instant::now();
            match tokio::time::timeout_at(self.ends(), self.renew(&hold, terms)).await {
                Ok(Ok(true)) => (asked, retry) = (now - self.begun, None),
                Ok(Err(fault)) if now < self.ends() => {
                    tracing::warn!(%fault, "a lease could not be renewed; it is tried again until the lease ends");
                    retry = Some(Instant::now() + terms.ttl() / 10);
                }
                _ => return self.lost.cancel(),
            }
        }
    }

    /// Waits until the lease is over; it may be renewed by hand meanwhile.
    async fn run_out(&self) {
        while Instant::now() < self.ends() {
            tokio::time::sleep_until(self.ends()).await;
        }
        self.lost.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_lease_is_renewed_each_third_of_it() {
        assert_eq!(next(ms(900), Some(ms(10_000)), ms(0)), Next::Renew { at: ms(300) });
        assert_eq!(next(ms(900), Some(ms(10_000)), ms(300)), Next::Renew { at: ms(600) });
        assert_eq!(next(ms(900), None, ms(0)), Next::End, "never, without a longest hold");
    }

    #[test]
    fn the_last_renewal_reaches_the_longest_hold_and_no_further() {
        assert_eq!(grant(ms(900), Some(ms(2_000)), ms(900)), ms(900));
        assert_eq!(grant(ms(900), Some(ms(2_000)), ms(1_500)), ms(500));
        assert_eq!(grant(ms(900), Some(ms(2_000)), ms(3_000)), ms(0));
        assert_eq!(next(ms(900), Some(ms(2_000)), ms(1_200)), Next::End);
    }

    proptest! {
        #[test]
        fn no_sequence_of_renewals_holds_longer_than_allowed(ttl in 20u64..2_000, more in 0u64..10_000) {
            let (ttl, longest) = (ms(ttl), ms(ttl + more));
            let (mut asked, mut until) = (ms(0), ttl);
            while let Next::Renew { at } = next(ttl, Some(longest), asked) {
                prop_assert!(at > asked && at < until, "renewed before it ends");
                until = at + grant(ttl, Some(longest), at);
                asked = at;
            }
            prop_assert_eq!(until, longest);
        }
    }
}
