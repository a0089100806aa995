//! A token bucket in the form of the generic cell rate algorithm (GCRA, ITU-T I.371): one number a bucket,
//! the theoretical arrival time (TAT) at which it is full again.
//!
//! `tat = min(max(stored, now), now + tolerance)`, `next = tat + cost * interval`; admitted iff
//! `next - now <= tolerance`. The clamp on both sides keeps a clock that jumps from opening the gate, or closing
//! it for longer than an empty bucket takes to fill.

use crate::model::{Cost, Micros, Quota};

/// What one request asks of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The bucket's burst and rate.
    pub quota: Quota,
    /// Units taken; 0 only looks.
    pub cost: Cost,
}

/// How far a bucket is from full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub Micros);

impl Charge {
    /// Whether the bucket could ever hold that much.
    #[must_use]
    pub fn is_admissible(self) -> bool {
        self.cost.0 <= self.quota.burst()
    }

    fn price(self) -> u64 {
        self.quota.interval().0.saturating_mul(u64::from(self.cost.0))
    }

    /// The level before this charge, from the TAT that is stored (0 when none is).
    #[must_use]
    pub fn level(self, stored: Micros, now: Micros) -> Level {
        Level(Micros(stored.0.saturating_sub(now.0).min(self.quota.tolerance().0)))
    }

    /// The level after this charge; `None` when the bucket refuses it.
    #[must_use]
    pub fn charged(self, level: Level) -> Option<Level> {
        let next = level.0.0.saturating_add(self.price());
        (next <= self.quota.tolerance().0).then_some(Level(Micros(next)))
    }

    /// How many units could be taken at `level`.
    #[must_use]
    pub fn remaining(self, level: Level) -> u64 {
        self.quota.tolerance().0.saturating_sub(level.0.0) / self.quota.interval().0
    }

    /// How long until this charge would pass; zero when it passes now, `None` when it never will.
    #[must_use]
    pub fn wait(self, level: Level) -> Option<Micros> {
        let next = level.0.0.saturating_add(self.price());
        self.is_admissible().then(|| Micros(next.saturating_sub(self.quota.tolerance().0)))
    }
}

/// Charges all buckets or none: the levels after it, or before it when one refuses.
///
/// # Errors
/// The levels as they were, when at least one bucket refuses.
pub fn charge_all(charges: &[Charge], stored: &[Micros], now: Micros) -> Result<Vec<Level>, Vec<Level>> {
    let before: Vec<Level> = charges.iter().zip(stored).map(|(c, s)| c.level(*s, now)).collect();
    let after: Option<Vec<Level>> = charges.iter().zip(&before).map(|(c, l)| c.charged(*l)).collect();
    after.ok_or(before)
}

/// What became of the buckets in shadow beside a request: each is judged for itself and refuses nothing.
///
/// Returns each one's level, and whether it would have refused. One that would is not charged; the others are when
/// `charged` says that the request is.
#[must_use]
pub fn in_shadow(charges: &[Charge], stored: &[Micros], now: Micros, charged: bool) -> Vec<(Level, bool)> {
    let each = charges.iter().zip(stored).map(|(charge, stored)| {
        let before = charge.level(*stored, now);
        match charge.charged(before) {
            None => (before, true),
            Some(after) => (if charged { after } else { before }, false),
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn charge(burst: u32, rate: &str, cost: u32) -> Charge {
        Charge { quota: Quota::parse(burst, rate).unwrap(), cost: Cost(cost) }
    }

    /// A bucket with its stored TAT, as Redis holds one.
    struct Stored(u64);

    impl Stored {
        fn take(&mut self, charge: Charge, now: u64) -> bool {
            let level = charge.level(Micros(self.0), Micros(now));
            let after = charge.charged(level);
            if let Some(after) = after.filter(|a| *a > level) {
                self.0 = now + after.0.0;
            }
            after.is_some()
        }
    }

    #[test]
    fn r_ratelimit_js_39_a_limit_of_1_admits_1() {
        let (mut bucket, one) = (Stored(0), charge(1, "1/s", 1));
        assert!(bucket.take(one, 1_000_000));
        assert!(!bucket.take(one, 1_000_000));
        assert!(bucket.take(one, 2_000_000));
    }

    #[test]
    fn r_ratelimit_js_pr156_a_refusal_changes_nothing() {
        let mut bucket = Stored(0);
        assert!(bucket.take(charge(10, "1/s", 8), 0));
        let before = bucket.0;
        for cost in [5, 1_000_000] {
            assert!(!bucket.take(charge(10, "1/s", cost), 0));
        }
        assert_eq!(bucket.0, before);
        assert!(bucket.take(charge(10, "1/s", 2), 0));
    }

    #[test]
    fn r_redis_cell_50_of_7000_calls_at_one_instant_6000_pass() {
        let (mut bucket, one) = (Stored(0), charge(6000, "6000/s", 1));
        assert_eq!((0..7000).filter(|_| bucket.take(one, 5)).count(), 6000);
    }

    #[test]
    fn r_governor_249_a_drained_bucket_gives_back_what_time_brought_and_no_more() {
        let (mut bucket, one) = (Stored(0), charge(5, "1/s", 1));
        let passed = |bucket: &mut Stored, now| (0..10).filter(|_| bucket.take(one, now)).count();
        assert_eq!(passed(&mut bucket, 0), 5);
        assert_eq!(passed(&mut bucket, 2_000_000), 2);
        assert_eq!(passed(&mut bucket, 86_400_000_000), 5);
    }

    #[test]
    fn r_lucia_1736_fractions_are_kept_between_polls() {
        let (mut bucket, one) = (Stored(0), charge(1, "1/s", 1));
        let passed = (0..=25).filter(|i| bucket.take(one, i * 400_000)).count();
        assert_eq!(passed, 9, "polled every 0.4 s for 10 s: at 0, 1.2, 2.4, … 9.6 s");
        let (mut bucket, one) = (Stored(0), charge(5, "1/s", 1));
        let passed = (0..25).filter(|i| bucket.take(one, i * 400_000)).count();
        assert!((5 + 9..=5 + 10).contains(&passed), "the burst and one a second: {passed}");
    }

    #[test]
    fn r_apisix_limit_req_a_clock_that_goes_back_neither_opens_nor_closes_the_gate() {
        let (mut bucket, one) = (Stored(0), charge(2, "1/s", 1));
        assert!(bucket.take(one, 100_000_000) && bucket.take(one, 100_000_000));
        assert!(!bucket.take(one, 50_000_000), "still empty");
        assert!(!bucket.take(one, 50_000_000));
        assert_eq!(one.wait(one.level(Micros(bucket.0), Micros(50_000_000))), Some(Micros(1_000_000)));
    }

    #[test]
    fn r_redis_pr15113_a_cost_above_the_burst_is_never_admissible() {
        let too_much = charge(5, "1/s", 6);
        assert!(!too_much.is_admissible());
        assert_eq!(too_much.wait(Level::default()), None);
    }

    #[test]
    fn r_redisson_4301_a_lower_burst_clamps_at_once() {
        let mut bucket = Stored(0);
        (0..100).for_each(|_| assert!(bucket.take(charge(100, "1/s", 1), 0)));
        let small = charge(5, "1/s", 1);
        assert_eq!(small.wait(small.level(Micros(bucket.0), Micros(0))), Some(Micros(1_000_000)));
    }

    #[test]
    fn r_envoyproxy_ratelimit_348_one_refusal_charges_none() {
        let charges = [charge(3, "1/s", 1), charge(10, "1/s", 1)];
        let mut stored = [Micros(0), Micros(0)];
        for _ in 0..5 {
            if let Ok(levels) = charge_all(&charges, &stored, Micros(0)) {
                stored = [levels[0].0, levels[1].0];
            }
        }
        assert_eq!(charges[1].remaining(Level(stored[1])), 7);
    }

    #[test]
    fn a_bucket_in_shadow_is_charged_while_it_would_admit_and_then_stands_still() {
        let (one, mut stored) = ([charge(2, "1/s", 1)], [Micros(0)]);
        let mut would_refuse = Vec::new();
        for _ in 0..3 {
            let (level, refuses) = in_shadow(&one, &stored, Micros(0), true)[0];
            stored = [level.0];
            would_refuse.push(refuses);
        }
        assert_eq!(would_refuse, [false, false, true]);
        assert_eq!(stored, [Micros(2_000_000)], "the one that it would have refused is not charged");
        let (level, _) = in_shadow(&one, &[Micros(0)], Micros(0), false)[0];
        assert_eq!(level, Level::default(), "nor is any that an enforced limit refused");
    }

    proptest! {
        #[test]
        fn r_ratelimit_js_pr61_exactly_the_remaining_pass_next(burst in 1u32..50, interval in 1u64..2_000_000, taken in 0u32..60, later in 0u64..5_000_000) {
            let one = Charge { quota: Quota::new(burst, Micros(interval)).unwrap(), cost: Cost(1) };
            let mut bucket = Stored(0);
            (0..taken).for_each(|_| { bucket.take(one, 1_000); });
            let now = 1_000 + later;
            let remaining = one.remaining(one.level(Micros(bucket.0), Micros(now)));
            prop_assert!(remaining <= u64::from(burst));
            prop_assert_eq!((0..100).filter(|_| bucket.take(one, now)).count() as u64, remaining);
        }

        #[test]
        fn r_fastify_pr325_after_exactly_the_wait_it_passes(burst in 1u32..50, interval in 1u64..2_000_000, cost in 1u32..50, now in 0u64..1_000_000_000) {
            let charge = Charge { quota: Quota::new(burst, Micros(interval)).unwrap(), cost: Cost(cost.min(burst)) };
            let mut bucket = Stored(0);
            while bucket.take(charge, now) {}
            let wait = charge.wait(charge.level(Micros(bucket.0), Micros(now))).unwrap();
            prop_assert!(wait.0 > 0);
            prop_assert!(!bucket.take(charge, now + wait.0 - 1));
            prop_assert!(bucket.take(charge, now + wait.0));
        }
    }
}
