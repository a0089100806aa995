//! Buckets that refused lately: the theoretical arrival time says of any cost whether it is still refused.
//!
//! Until the bucket is charged again its TAT stands still, and only admissions charge it; so what a denial proves
//! stays proved, except that an operator may reset the bucket. Entries therefore live at most `snapshot_ms`.

use super::table::Table;
use crate::admit::{Charge, Level};
use crate::digest::Tag;
use crate::model::{Micros, Millis};

/// A bucket, as the isolate keys it: limit by position, policy version, subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// The configuration that the limit belongs to: a changed limit is another bucket.
    pub version: u64,
    /// Position of the limit in the configuration.
    pub limit: usize,
    /// Whom it counts.
    pub subject: Tag,
}

/// The buckets that refused lately.
#[derive(Debug)]
pub struct Denied {
    table: Table<Bucket, Micros>,
    kept: Millis,
}

impl Denied {
    /// At most `most` buckets, each for `kept`.
    #[must_use]
    pub fn new(most: usize, kept: Millis) -> Self {
        Self { table: Table::new(most, usize::MAX), kept }
    }

    /// Keeps what comes from now on for `kept`.
    pub fn adjust(&mut self, kept: Millis) {
        self.kept = kept;
    }

    /// Redis said at its time `redis`, heard at the isolate's `now`, that the bucket stands at `level` and refuses.
    pub fn learn(&mut self, bucket: Bucket, level: Level, redis: Millis, now: Millis) {
        // Redis told its time in whole ms, rounded down: the TAT is at least this.
        let tat = Micros(redis.micros().0.saturating_add(level.0.0));
        self.table.put(bucket, tat, 0, now.plus(self.kept));
    }

    /// The bucket's level, when it surely refuses `charge` while Redis' clock shows something from `earliest` to
    /// `latest`. The level is the highest that it can be, so that nobody is told to come back too early.
    #[must_use]
    pub fn refuses(
        &self,
        bucket: &Bucket,
        charge: Charge,
        (earliest, latest): (Millis, Millis),
        now: Millis,
    ) -> Option<Level> {
        let tat = self.table.get(bucket, now)?;
        // To the end of that millisecond: what refuses then refuses before, too.
        let end = Micros(latest.micros().0.saturating_add(UNTOLD));
        if charge.wait(charge.level(*tat, end))? == Micros(0) {
            return None;
        }
        Some(charge.level(Micros(tat.0.saturating_add(UNTOLD)), earliest.micros()))
    }
}

/// What a time in whole milliseconds leaves untold, in µs.
const UNTOLD: u64 = 999;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cost, Quota};

    fn bucket(version: u64) -> Bucket {
        Bucket { version, limit: 0, subject: Tag::of(&[b"42"]) }
    }

    fn charge(cost: u32) -> Charge {
        Charge { quota: Quota::parse(5, "2/s").unwrap(), cost: Cost(cost) }
    }

    fn denied(level_us: u64) -> Denied {
        let mut denied = Denied::new(10, Millis(1_000));
        denied.learn(bucket(1), Level(Micros(level_us)), Millis(10_000), Millis(0));
        denied
    }

    /// A clock that is known exactly.
    fn at(ms: u64) -> (Millis, Millis) {
        (Millis(ms), Millis(ms))
    }

    #[test]
    fn what_the_clock_leaves_open_neither_refuses_nor_shortens_the_wait() {
        let (denied, one) = (denied(2_500_000), charge(1));
        assert!(denied.refuses(&bucket(1), one, (Millis(10_400), Millis(10_500)), Millis(1)).is_none());
        let level = denied.refuses(&bucket(1), one, (Millis(10_400), Millis(10_498)), Millis(1)).unwrap();
        assert_eq!(level, Level(Micros(2_100_999)), "as of the earliest, and of the latest that was meant");
    }

    #[test]
    fn it_refuses_until_redis_would_not() {
        let denied = denied(2_500_000);
        assert!(denied.refuses(&bucket(1), charge(1), at(10_498), Millis(1)).is_some());
        assert!(denied.refuses(&bucket(1), charge(1), at(10_500), Millis(1)).is_none());
    }

    #[test]
    fn r_ratelimit_js_ephemeral_cache_a_smaller_cost_is_judged_by_itself() {
        let denied = denied(1_500_000);
        assert!(denied.refuses(&bucket(1), charge(5), at(10_000), Millis(1)).is_some());
        assert!(denied.refuses(&bucket(1), charge(1), at(10_000), Millis(1)).is_none());
    }

    #[test]
    fn r_envoyproxy_ratelimit_1077_a_changed_policy_is_another_bucket() {
        assert!(denied(2_500_000).refuses(&bucket(2), charge(1), at(10_000), Millis(1)).is_none());
    }

    #[test]
    fn a_reset_is_seen_after_the_time_that_entries_live() {
        assert!(denied(2_500_000).refuses(&bucket(1), charge(1), at(10_000), Millis(1_000)).is_none());
    }

    #[test]
    fn another_time_to_keep_holds_for_what_comes_from_then_on() {
        let mut denied = denied(2_500_000);
        denied.adjust(Millis(10));
        denied.learn(bucket(2), Level(Micros(2_500_000)), Millis(10_000), Millis(0));
        let refuses = |version, now| {
            denied.refuses(&bucket(version), charge(1), (Millis(10_000), Millis(10_000)), Millis(now)).is_some()
        };
        assert!(refuses(1, 999) && refuses(2, 9) && !refuses(2, 10));
    }
}
