//! How a lock is waited for. Who waits is decided by chance, so that waiters do not come back all at once.

use std::time::Duration;

const BASE: Duration = Duration::from_millis(5);
const CAP: Duration = Duration::from_millis(200);

/// Until when, and how often, a lock that is taken is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    limit: Duration,
    base: Duration,
    cap: Duration,
}

impl Wait {
    /// One attempt.
    #[must_use]
    pub fn none() -> Self {
        Self::up_to(Duration::ZERO)
    }

    /// Attempts for so long, and a last one at the end; the pauses grow from 5 ms to 200 ms, half of each by chance.
    #[must_use]
    pub fn up_to(limit: Duration) -> Self {
        Self { limit, base: BASE, cap: CAP }
    }

    /// The first pause, and the longest; at least 1 ms each.
    #[must_use]
    pub fn paced(mut self, base: Duration, cap: Duration) -> Self {
        self.base = base.max(Duration::from_millis(1));
        self.cap = cap.max(self.base);
        self
    }

    /// How long is waited at most.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// The pause after failed attempt number `attempt` (from 0), so long after the start; none when time is up. It
    /// doubles up to the cap, and `random` picks it from the upper half.
    pub(crate) fn pause(&self, attempt: u32, elapsed: Duration, random: u64) -> Option<Duration> {
        let doubled = self.base.saturating_mul(1u32.checked_shl(attempt.min(20)).unwrap_or(u32::MAX));
        self.within(doubled.min(self.cap), elapsed, random)
    }

    /// The same for a waiter that knows how many are before it: who is next looks often, the others need not. Never
    /// longer than a third of `silence`, so that two lost answers do not make it count as dead.
    pub(crate) fn turn(&self, before: u64, silence: Duration, elapsed: Duration, random: u64) -> Option<Duration> {
        let steps = u32::try_from(before.saturating_add(1)).unwrap_or(u32::MAX);
        let pause = self.base.saturating_mul(steps).min(self.cap).min(silence / 3);
        self.within(pause, elapsed, random)
    }

    fn within(&self, ceiling: Duration, elapsed: Duration, random: u64) -> Option<Duration> {
        let left = self.limit.checked_sub(elapsed).filter(|left| !left.is_zero())?;
        let ceiling = u64::try_from(ceiling.as_micros()).unwrap_or(u64::MAX);
        let half = ceiling / 2;
        let pause = half + random % (ceiling - half + 1);
        Some(Duration::from_micros(pause).min(left))
    }
}

/// Chance for a pause. Without randomness all pauses are their shortest, which is still right.
pub(crate) fn chance() -> u64 {
    getrandom::u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn pauses_double_up_to_the_cap() {
        let wait = Wait::up_to(ms(60_000)).paced(ms(4), ms(100));
        let longest: Vec<_> = (0..7).map(|attempt| wait.pause(attempt, ms(0), 0).unwrap()).collect();
        assert_eq!(longest, [2, 4, 8, 16, 32, 50, 50].map(ms), "the shortest of each, half of its ceiling");
    }

    #[test]
    fn without_a_limit_there_is_no_pause() {
        assert_eq!(Wait::none().pause(0, ms(0), 7), None);
    }

    #[test]
    fn who_is_next_looks_more_often_than_who_is_last() {
        let wait = Wait::up_to(ms(60_000)).paced(ms(4), ms(100));
        assert_eq!(wait.turn(0, ms(3000), ms(0), 0), Some(ms(2)));
        assert_eq!(wait.turn(9, ms(3000), ms(0), 0), Some(ms(20)));
        assert_eq!(wait.turn(u64::MAX, ms(3000), ms(0), 0), Some(ms(50)));
        assert_eq!(wait.turn(90, ms(60), ms(0), 0), Some(ms(10)), "often enough to count as alive");
    }

    proptest! {
        #[test]
        fn a_pause_is_within_its_half_and_never_beyond_the_deadline(
            attempt in 0u32..64, elapsed in 0u64..2_000, random in any::<u64>(), base in 0u64..500, cap in 0u64..500,
        ) {
            let wait = Wait::up_to(ms(1_000)).paced(ms(base), ms(cap));
            match wait.pause(attempt, ms(elapsed), random) {
                None => prop_assert!(elapsed >= 1_000),
                Some(pause) => {
                    prop_assert!(pause <= wait.cap && pause + ms(elapsed) <= ms(1_000));
                    prop_assert!(pause >= (wait.base / 2).min(ms(1_000 - elapsed)));
                }
            }
        }
    }
}
