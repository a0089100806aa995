//! How far Redis' clock is ahead of the isolate's, learnt from replies.
//!
//! A reply carries Redis' time at the instant of the verdict. The isolate knows when it asked and when it heard, so
//! the true offset lies between `redis - heard` and `redis - asked`. Both clocks tell whole milliseconds, rounded down,
//! which widens the bounds by one on either side.

use crate::model::Millis;

/// Bounds of the offset, in ms; the narrowest that was seen lately.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offset {
    seen: Option<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    low: i64,
    high: i64,
    at: Millis,
}

/// A narrow pair of bounds is kept so long; clocks drift, and an isolate lives for hours.
const KEPT: Millis = Millis(60_000);

impl Offset {
    /// Learns from one call.
    pub fn learn(&mut self, asked: Millis, heard: Millis, redis: Millis) {
        let seen =
            Seen { low: ahead(redis, heard).saturating_sub(1), high: ahead(redis, asked).saturating_add(1), at: heard };
        let narrower = |old: &Seen| seen.high - seen.low <= old.high - old.low || heard >= old.at.plus(KEPT);
        if seen.low <= seen.high && self.seen.as_ref().is_none_or(narrower) {
            self.seen = Some(seen);
        }
    }

    /// The latest that Redis' clock can show at the isolate's `now`; `None` before the first reply.
    #[must_use]
    pub fn latest(&self, now: Millis) -> Option<Millis> {
        self.seen.map(|seen| moved(now, seen.high.saturating_add(1)))
    }

    /// The earliest that Redis' clock can show at the isolate's `now`; `None` before the first reply.
    #[must_use]
    pub fn earliest(&self, now: Millis) -> Option<Millis> {
        self.seen.map(|seen| moved(now, seen.low))
    }
}

fn ahead(redis: Millis, isolate: Millis) -> i64 {
    i64::try_from(redis.0).unwrap_or(i64::MAX).saturating_sub(i64::try_from(isolate.0).unwrap_or(i64::MAX))
}

fn moved(now: Millis, by: i64) -> Millis {
    Millis(now.0.saturating_add_signed(by))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_known_before_the_first_reply() {
        assert_eq!(Offset::default().latest(Millis(5)), None);
    }

    #[test]
    fn a_narrow_observation_is_kept_over_a_wide_one_until_it_is_old() {
        let mut offset = Offset::default();
        offset.learn(Millis(1_000), Millis(1_010), Millis(2_005));
        offset.learn(Millis(1_100), Millis(1_300), Millis(2_200));
        assert_eq!(offset.latest(Millis(2_000)), Some(Millis(3_007)));
        offset.learn(Millis(61_010), Millis(61_110), Millis(62_010));
        assert_eq!(offset.latest(Millis(62_000)), Some(Millis(63_002)));
    }

    #[test]
    fn a_narrower_observation_takes_the_place_of_a_wide_one_at_once() {
        let mut offset = Offset::default();
        offset.learn(Millis(1_000), Millis(1_400), Millis(2_200));
        assert_eq!(offset.latest(Millis(2_000)), Some(Millis(3_202)));
        offset.learn(Millis(1_500), Millis(1_510), Millis(2_505));
        assert_eq!(
            (offset.earliest(Millis(2_000)), offset.latest(Millis(2_000))),
            (Some(Millis(2_994)), Some(Millis(3_007)))
        );
    }

    proptest! {
        #[test]
        fn the_bounds_hold_redis_time(offset in -5_000i64..5_000, there in 0u64..500, back in 0u64..500, later in 0u64..1_000) {
            let redis_at = |isolate: u64| Millis(isolate.saturating_add_signed(offset));
            let asked = 1_000_000;
            let heard = asked + there + back;
            let mut learnt = Offset::default();
            learnt.learn(Millis(asked), Millis(heard), redis_at(asked + there));
            let now = heard + later;
            prop_assert!(learnt.earliest(Millis(now)).unwrap() <= redis_at(now));
            prop_assert!(learnt.latest(Millis(now)).unwrap() >= redis_at(now));
        }
    }
}
