//! Buckets at one instant, at the end of a bucket's life, and under many callers at once, in real Redis.

use std::time::Duration;

use sluice::admit::{Charge, Level, Verdict};
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::script::admit::{self, Call, Reply};
use xtask::clock;

use crate::mode::Redis;
use crate::support::{admit, connect, eval, redis_only, ttls};

const NOW: u64 = 1_800_000_000_000_000;

fn charge(burst: u32, rate: &str, cost: u32) -> Charge {
    Charge { quota: Quota::parse(burst, rate).unwrap(), cost: Cost(cost) }
}

/// One bucket at `now` µs; 0 is Redis' own time.
fn call(charge: Charge, now: u64) -> Call {
    Call { buckets: vec![("sl1:{p0}:b".to_owned(), charge)], now: Micros(now), ..Call::default() }
}

fn passes(redis: &mut Redis, charge: Charge, now: u64) -> bool {
    match admit(redis, &call(charge, now)) {
        Verdict::Admitted { .. } => true,
        Verdict::Limited { .. } => false,
        other => panic!("{other:?}"),
    }
}

/// The whole reply, with Redis' own time.
fn reply(redis: &mut Redis, call: &Call) -> Reply {
    admit::parse(eval(redis, &admit::SCRIPT, &call.keys(), &call.args())).unwrap()
}

fn state(redis: &mut Redis) -> (Option<String>, i64) {
    (
        redis::cmd("GET").arg("sl1:{p0}:b").query(redis).unwrap(),
        redis::cmd("PEXPIRETIME").arg("sl1:{p0}:b").query(redis).unwrap(),
    )
}

#[tokio::test]
async fn r_ratelimit_js_pr156_a_refusal_leaves_value_and_ttl_as_they_are() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    assert!(passes(&mut redis, charge(10, "1/m", 8), 0));
    let before = state(&mut redis);
    for cost in [5, 10, 11, 1_000_000, u32::MAX] {
        assert!(!passes(&mut redis, charge(10, "1/m", cost), 0), "{cost}");
        assert_eq!(state(&mut redis), before, "{cost}");
    }
    assert!(passes(&mut redis, charge(10, "1/m", 2), 0), "the two that are left");
    assert!(!passes(&mut redis, charge(10, "1/m", 1), 0));
}

#[tokio::test]
async fn r_redisson_3804_calls_at_one_instant_all_count() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let twenty = charge(20, "1/m", 1);
    assert_eq!((0..30).filter(|_| passes(&mut redis, twenty, NOW)).count(), 20);
    assert_eq!(redis::cmd("DBSIZE").query(&mut redis), Ok(1), "one key, however many calls");
}

#[tokio::test]
async fn r_prorate_pr40_a_wait_of_less_than_a_second_holds_to_its_last_microsecond() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    // 0.8 s, and intervals that are no whole milliseconds or seconds.
    for (n, interval) in
        [800_000u64, 1, 999, 1_001, 333_333, 999_999, 1_000_001, 86_399_999_999].into_iter().enumerate()
    {
        let one = Charge { quota: Quota::new(1, Micros(interval)).unwrap(), cost: Cost(1) };
        let key = format!("{{p0}}b{n}");
        let mut at = |now: u64| {
            // Nothing expires meanwhile but by the time that is passed: each step sets the key again.
            let call = Call { buckets: vec![(key.clone(), one)], now: Micros(now), ..Call::default() };
            let stored = Micros(NOW + interval);
            let () = redis::cmd("SET").arg(&key).arg(stored.0).arg("PX").arg(100_000_000).query(&mut redis).unwrap();
            admit(&mut redis, &call)
        };
        assert_eq!(at(NOW), Verdict::Limited { levels: vec![Level(Micros(interval))] }, "{interval}: told exactly");
        assert_eq!(at(NOW + interval - 1), Verdict::Limited { levels: vec![Level(Micros(1))] }, "{interval}");
        assert!(matches!(at(NOW + interval), Verdict::Admitted { .. }), "{interval}");
    }
}

#[tokio::test]
async fn r_apisix_5588_a_bucket_of_one_second_holds_at_the_edge_of_its_expiry() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let one = charge(1, "1/s", 1);
    let mut passed: Vec<Millis> = Vec::new();
    let deadline = clock::now() + Duration::from_secs(20);
    while passed.len() < 4 {
        assert!(clock::now() < deadline, "{passed:?}");
        let Reply { verdict, now, .. } = reply(&mut redis, &call(one, 0));
        match verdict {
            Verdict::Admitted { levels, .. } => {
                assert_eq!(levels, [Level(Micros(1_000_000))], "after expiry it is full, and charged once");
                passed.push(now);
            }
            Verdict::Limited { levels } => {
                let wait = one.wait(levels[0]).unwrap();
                assert!(wait > Micros(0) && wait <= Micros(1_000_000), "r_rate_limit_redis_216: {wait:?}");
            }
            other => panic!("{other:?}"),
        }
        // -1 is a key that never ends, -2 one that has just ended.
        let ttl: i64 = redis::cmd("PTTL").arg("sl1:{p0}:b").query(&mut redis).unwrap();
        assert!(ttl == -2 || (0..=1_000).contains(&ttl), "{ttl}");
    }
    for pair in passed.windows(2) {
        // Redis tells its time in whole milliseconds, rounded down.
        assert!(pair[1].minus(pair[0]) >= Millis(999), "r_apisix_3988: {passed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_apisix_pr13574_of_200_parallel_calls_a_limit_of_50_admits_50() {
    let stack = redis_only().await;
    let calls = (0..200).map(|_| {
        let mut redis = connect(&stack);
        tokio::task::spawn_blocking(move || passes(&mut redis, charge(50, "1/h", 1), 0))
    });
    let mut admitted = 0;
    for call in calls.collect::<Vec<_>>() {
        admitted += usize::from(call.await.unwrap());
    }
    assert_eq!(admitted, 50);
    assert!(ttls(&mut connect(&stack)).iter().all(|(_, ttl)| *ttl > 0));
}
