//! `lua/admit.lua` and the pure model agree, step by step, on random histories of several buckets.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluice::admit::bucket::charge_all;
use sluice::admit::{Charge, Level, Verdict};
use sluice::model::{Cost, Micros, Quota};
use sluice::script::admit::Call;

use crate::mode::Redis;
use crate::support::{admit, connect, redis_only, ttls};

const BUCKETS: usize = 3;
const START: u64 = 1_800_000_000_000_000;

/// One request: how the clock moved since the last one (in µs, either way), and what is asked of each bucket.
#[derive(Clone, Debug)]
struct Step {
    clock: i64,
    charges: Vec<Option<Charge>>,
}

/// Intervals of minutes, so that no key expires by the real clock while the simulated one stands still.
fn charge() -> impl Strategy<Value = Charge> {
    (1u32..20, 100_000_000u64..900_000_000, 0u32..25).prop_map(|(burst, interval, cost)| Charge {
        quota: Quota::new(burst, Micros(interval)).unwrap(),
        cost: Cost(cost),
    })
}

fn step() -> impl Strategy<Value = Step> {
    let clock = prop_oneof![
        4 => Just(0i64),
        4 => 0i64..2_000_000_000,
        1 => -2_000_000_000i64..0,
        1 => 0i64..40_000_000_000,
    ];
    let charges = proptest::collection::vec(proptest::option::weighted(0.7, charge()), BUCKETS);
    (clock, charges).prop_map(|(clock, charges)| Step { clock, charges })
}

/// Plays one history on fresh keys and compares verdict, levels and what is stored after every step.
fn play(redis: &mut Redis, history: &[Step], name: &str) -> Result<(), TestCaseError> {
    let keys: Vec<String> = (0..BUCKETS).map(|i| format!("sl1:{{p0}}:b:{name}:{i}")).collect();
    let mut stored = [Micros(0); BUCKETS];
    let mut now = START;
    for step in history {
        now = now.saturating_add_signed(step.clock);
        let asked: Vec<(usize, Charge)> =
            step.charges.iter().enumerate().filter_map(|(i, c)| c.map(|c| (i, c))).collect();
        let charges: Vec<Charge> = asked.iter().map(|(_, charge)| *charge).collect();
        let before: Vec<Micros> = asked.iter().map(|(i, _)| stored[*i]).collect();
        let expected = charge_all(&charges, &before, Micros(now));
        if let Ok(levels) = &expected {
            for ((i, charge), Level(level)) in asked.iter().zip(levels) {
                if charge.cost.0 > 0 {
                    stored[*i] = Micros(now + level.0);
                }
            }
        }
        let buckets = asked.iter().map(|(i, charge)| (keys[*i].clone(), *charge)).collect();
        let verdict = admit(redis, &Call { buckets, now: Micros(now), ..Call::default() });
        match expected {
            Ok(levels) => prop_assert_eq!(verdict, Verdict::Admitted { taken_over: None, levels }),
            Err(levels) => prop_assert_eq!(verdict, Verdict::Limited { levels }),
        }
        let in_redis: Vec<Option<u64>> = redis::cmd("MGET").arg(&keys).query(redis).unwrap();
        let in_redis: Vec<u64> = in_redis.into_iter().map(Option::unwrap_or_default).collect();
        prop_assert_eq!(in_redis, stored.iter().map(|tat| tat.0).collect::<Vec<_>>());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn model_and_lua_agree_on_more_than_10_000_random_steps() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let mut runner = TestRunner::new(Config { cases: 120, failure_persistence: None, ..Config::default() });
    let (mut case, mut steps) = (0, 0);
    let connection = std::cell::RefCell::new(&mut redis);
    let counted = std::cell::RefCell::new((&mut case, &mut steps));
    let history = proptest::collection::vec(step(), 100..160);
    let outcome = runner.run(&history, |history| {
        let name = {
            let mut counted = counted.borrow_mut();
            *counted.0 += 1;
            *counted.1 += history.len();
            counted.0.to_string()
        };
        play(*connection.borrow_mut(), &history, &name)
    });
    outcome.unwrap();
    assert!(steps >= 10_000, "{steps} steps");
    let forever: Vec<_> = ttls(&mut redis).into_iter().filter(|(_, ttl)| *ttl == -1).collect();
    assert!(forever.is_empty(), "r_ratelimit_js_95: keys without TTL: {forever:?}");
}

#[tokio::test]
async fn r_ratelimit_js_111_a_cost_of_0_leaves_redis_as_it_is() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let peek = Charge { quota: Quota::parse(5, "1/m").unwrap(), cost: Cost(0) };
    let take = Charge { cost: Cost(2), ..peek };
    let call = |charge| Call { buckets: vec![("sl1:{p0}:b".to_owned(), charge)], ..Call::default() };
    admit(&mut redis, &call(peek));
    assert!(ttls(&mut redis).is_empty(), "a look at an unused bucket creates nothing");
    admit(&mut redis, &call(take));
    let state = |redis: &mut Redis| -> (String, i64) {
        (
            redis::cmd("GET").arg("sl1:{p0}:b").query(redis).unwrap(),
            redis::cmd("PEXPIRETIME").arg("sl1:{p0}:b").query(redis).unwrap(),
        )
    };
    let before = state(&mut redis);
    admit(&mut redis, &call(peek));
    assert_eq!(state(&mut redis), before);
}

#[tokio::test]
async fn r_redis_cell_11_limits_far_above_one_a_millisecond_hold_by_redis_own_clock() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let charge = Charge { quota: Quota::parse(6000, "6000/s").unwrap(), cost: Cost(3000) };
    let call = Call { buckets: vec![("sl1:{p0}:b".to_owned(), charge)], ..Call::default() };
    let passed = (0..3).filter(|_| matches!(admit(&mut redis, &call), Verdict::Admitted { .. })).count();
    assert_eq!(passed, 2);
}

#[tokio::test]
async fn r_rate_limiter_flexible_221_a_ttl_is_rounded_up() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let charge = Charge { quota: Quota::new(1, Micros(1)).unwrap(), cost: Cost(1) };
    let verdict = admit(&mut redis, &Call { buckets: vec![("sl1:{p0}:b".to_owned(), charge)], ..Call::default() });
    assert!(matches!(verdict, Verdict::Admitted { .. }), "a wait of 1 µs is a TTL of 1 ms, not of 0");
}
