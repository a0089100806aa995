//! For how long a lock is held, and what comes with it.

use crate::error::Invalid;
use std::time::Duration;

pub(crate) const SHORTEST_TTL: Duration = Duration::from_millis(20);
pub(crate) const LONGEST_TTL: Duration = Duration::from_secs(24 * 3600);
const LONGEST_HOLD: Duration = Duration::from_secs(7 * 24 * 3600);

/// The terms of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    ttl: Duration,
    longest_hold: Option<Duration>,
    fenced: bool,
}

impl Terms {
    /// A lease of so long, 20 ms to 24 h, in whole milliseconds: what others wait at most when the holder dies.
    ///
    /// # Errors
    /// When it is shorter or longer.
    pub fn new(ttl: Duration) -> Result<Self, Invalid> {
        within("a ttl", ttl, SHORTEST_TTL, LONGEST_TTL)?;
        Ok(Self { ttl: whole_millis(ttl), longest_hold: None, fenced: false })
    }

    /// The lease is renewed every third of its ttl while the guard lives, until the lock has been held for so long:
    /// the ttl to 7 days. Then it runs out, whatever the work does.
    ///
    /// # Errors
    /// When the longest hold is shorter than the ttl or longer than 7 days.
    pub fn renewed_up_to(mut self, longest_hold: Duration) -> Result<Self, Invalid> {
        within("a longest hold", longest_hold, self.ttl, LONGEST_HOLD)?;
        self.longest_hold = Some(longest_hold);
        Ok(self)
    }

    /// Every acquisition gets a number that is larger than all before it. Redis keeps one small key, without a TTL,
    /// for each name that was ever locked so: use it for a bounded set of names.
    #[must_use]
    pub fn fenced(mut self) -> Self {
        self.fenced = true;
        self
    }

    /// How long the lease is.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Until when it is renewed, counted from the acquisition; none when it is not.
    #[must_use]
    pub fn longest_hold(&self) -> Option<Duration> {
        self.longest_hold
    }

    /// Whether acquisitions are numbered.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.fenced
    }
}

pub(crate) fn within(
    what: &'static str,
    given: Duration,
    shortest: Duration,
    longest: Duration,
) -> Result<(), Invalid> {
    if given < shortest || given > longest {
        return Err(Invalid::Duration { what, given, shortest, longest });
    }
    Ok(())
}

/// Redis counts in whole milliseconds; a fraction would make our idea of the lease longer than Redis' own.
fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(millis(duration))
}

/// Whole milliseconds, rounded down.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_absurd_durations_are_refused() {
        for bad in [Duration::ZERO, Duration::from_millis(19), LONGEST_TTL + Duration::from_millis(1), Duration::MAX] {
            assert!(matches!(Terms::new(bad), Err(Invalid::Duration { what: "a ttl", .. })), "{bad:?}");
        }
        let terms = Terms::new(Duration::from_secs(1)).unwrap();
        for bad in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
            assert!(terms.renewed_up_to(bad).is_err(), "{bad:?}");
        }
        assert!(terms.renewed_up_to(Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn a_lease_is_never_longer_here_than_in_redis() {
        assert_eq!(Terms::new(Duration::from_micros(20_999)).unwrap().ttl(), Duration::from_millis(20));
    }
}
