//! An isolate that remembers and one that does not give the same answer.

use proptest::prelude::*;
use sluice::admit::bucket::charge_all;
use sluice::admit::{Charge, Level};
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::shed::Denied;
use sluice::shed::denied::Bucket;

use crate::stage::{Stage, order, with};

const LIMITED: &str = "[1,1800000000000,\"\",2000001,0]";
const ADMITTED: &str = "[0,1800000000000,\"\",\"\",2500000,100000]";

#[test]
fn r_ratelimit_js_pr157_the_last_one_passes_whether_the_isolate_has_seen_the_bucket_or_not() {
    // 2.000001 of 2.5 s are used: in one microsecond the last one can be taken.
    let done = &[("sluice-completed", "1")];
    let cold = Stage::default().redis(ADMITTED).origin(202, done, "");
    let warm = Stage::default().redis(LIMITED).redis(ADMITTED).origin(202, done, "");
    assert_eq!(warm.play(with(order(), "user-agent", "the first")).status, 429);
    for stage in [&cold, &warm] {
        stage.later(3);
        assert_eq!(stage.play(order()).status, 202);
    }
    assert_eq!((cold.commands().len(), warm.commands().len()), (1, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Redis runs a call at any instant up to the latest that the isolate thinks its clock can show.
    #[test]
    fn r_ratelimit_js_pr157_memory_never_refuses_what_redis_would_admit(
        burst in 1u32..20, interval in 1u64..2_000_000, used in 0.0f64..=1.0, cost in 1u32..20,
        heard_us in 0u64..1_000, later_us in 0u64..40_000_000, slack_ms in 0u64..50,
    ) {
        let quota = Quota::new(burst, Micros(interval)).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, clippy::float_arithmetic)]
        let level = ((quota.tolerance().0 as f64) * used) as u64;
        // Redis judged at `judged`, told whole milliseconds, and the bucket's stored time is exact.
        let judged = Micros(1_800_000_000_000_000 + heard_us);
        let stored = Micros(judged.0 + level);
        let told = Millis(judged.0 / 1_000);
        let mut denied = Denied::new(10, Millis(u64::MAX / 2));
        let bucket = Bucket { version: 1, limit: 0, subject: Tag::of(&[b"42"]) };
        denied.learn(bucket.clone(), Level(Micros(level)), told, Millis(0));
        let runs_at = Micros(judged.0 + later_us);
        let latest = Millis(runs_at.0 / 1_000 + slack_ms);
        let charge = Charge { quota, cost: Cost(cost.min(burst)) };
        // The earliest and the latest that Redis' clock can show.
        if let Some(level) = denied.refuses(&bucket, charge, (told, latest), Millis(1)) {
            prop_assert!(charge_all(&[charge], &[stored], runs_at).is_err(), "{level:?}");
        }
    }
}
