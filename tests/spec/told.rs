//! What a client and an operator are told of limits: what Redis said, in whole seconds, and nothing guessed.

use proptest::prelude::*;
use sluice::admit::{Charge, Level};
use sluice::api::ratelimit::{self, Met};
use sluice::api::response::Response;
use sluice::model::{Cost, Micros, Quota};

use crate::stage::{Stage, code, order, order_of, with};

const USER: &str = "burst = 5\nrate = \"2/s\"";
/// The user's bucket in gate.toml: 5 at once, one back every 500,000 µs.
const FULL_AFTER: u64 = 2_500_000;
const INTERVAL: u64 = 500_000;

/// `r` and `t` of the limit `name` in a `RateLimit` header.
fn item(response: &Response, name: &str) -> (u64, u64) {
    let header = response.get("ratelimit").unwrap();
    let item = header.split(", ").find_map(|item| item.strip_prefix(&format!("\"{name}\";r="))).unwrap();
    let (left, full) = item.split_once(";t=").unwrap();
    (left.parse().unwrap(), full.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn r_ratelimit_js_59_reset_and_retry_after_are_seconds_from_now_and_right_within_one(level in 0u64..=FULL_AFTER) {
        assert!(include_str!("../../gate.toml").contains(USER));
        let admits = level + INTERVAL <= FULL_AFTER;
        let reply = if admits {
            format!("[0,1800000000000,\"\",\"\",{},100000]", level + INTERVAL)
        } else {
            format!("[1,1800000000000,\"\",{level},0]")
        };
        let stage = Stage::default().redis(&reply).origin(202, &[("sluice-completed", "1")], "");
        let response = stage.play(order());
        let (_, reset) = item(&response, "user");
        let stands = if admits { level + INTERVAL } else { level };
        prop_assert!(reset * 1_000_000 >= stands && reset * 1_000_000 < stands + 1_000_000, "{reset} for {stands}");
        let retry_after: Option<u64> = response.get("retry-after").map(|text| text.parse().unwrap());
        if admits {
            prop_assert_eq!((response.status, retry_after), (202, None));
        } else {
            let wait = level + INTERVAL - FULL_AFTER;
            let told = retry_after.unwrap() * 1_000_000;
            prop_assert_eq!(response.status, 429);
            prop_assert!(told >= wait && told < wait + 1_000_000, "{told} for {wait}");
            prop_assert!(told > 0, "r_apisix_9964: never zero");
        }
    }

    #[test]
    fn r_gubernator_pr225_remaining_and_reset_tell_of_the_same_level(
        burst in 1u32..1_000, interval in 1u64..100_000_000, part in 0.0f64..=1.0, later in 0u64..5_000_000,
    ) {
        let charge = Charge { quota: Quota::new(burst, Micros(interval)).unwrap(), cost: Cost(1) };
        let told = |level: u64| {
            let mut response = Response::new(200);
            ratelimit::add(&mut response, &[Met { name: "user", charge, level: Level(Micros(level)) }]);
            item(&response, "user")
        };
        let full = charge.quota.tolerance().0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, clippy::float_arithmetic)]
        let level = ((full as f64) * part) as u64;
        let (left, reset) = told(level);
        prop_assert_eq!(left == u64::from(burst), reset == 0, "full, and nothing to wait for, are one");
        let (more, sooner) = told(level.saturating_sub(later));
        prop_assert!(more >= left && sooner <= reset, "as time passes both go the same way");
        prop_assert!((reset * 1_000_000).div_ceil(interval) + left >= u64::from(burst), "by then the rest is back");
    }
}

#[test]
fn r_envoyproxy_ratelimit_808_what_is_logged_is_what_redis_said_and_once() {
    let cases = [
        ("[0,1800000000000,\"\",\"\",500000,100000]", "admitted", 202),
        ("[1,1800000000000,\"\",2500000,0]", "too_many_requests", 429),
        ("[2,1800000000000,1800000000300]", "in_progress", 409),
        ("[3,1800000000000,\"202\\n\\nt{}\"]", "replay", 202),
        ("[4,1800000000000,\"\",0,0]", "idempotency_mismatch", 422),
        ("[5,1800000000000]", "outcome_unknown", 409),
        ("[6,1800000000000]", "degraded", 503),
        ("[8,1800000000000,\"1799999000000,1800003600000,0,0,9\"]", "sold_out", 409),
        ("[8,1800000000000,\"1799999000000,1800003600000,1,5,9\"]", "sale_paused", 503),
        ("null", "degraded", 503),
    ];
    for (reply, verdict, status) in cases {
        // Replays pass, and of what passes only the first is logged: each case has an isolate of its own.
        let stage = Stage::default().redis(reply).origin(202, &[("sluice-completed", "1")], "{}");
        let response = stage.play(order());
        let lines = stage.decisions();
        assert_eq!(lines.len(), 1, "{reply}");
        let told = (lines[0]["verdict"].as_str(), lines[0]["status"].as_u64(), lines[0]["shed"].as_bool());
        assert_eq!(told, (Some(verdict), Some(status), Some(false)), "{reply}");
        assert_eq!(u64::from(response.status), status, "{reply}");
    }
}

#[test]
fn what_memory_alone_refuses_is_logged_as_shed_and_never_as_admitted() {
    let stage = Stage::default().redis("[8,1800000000000,\"1799999000000,1800003600000,0,0,9\"]");
    for user in ["1", "2", "3"] {
        assert_eq!(code(&stage.play(order_of(user))), "sold_out");
    }
    let shed: Vec<_> = stage.decisions().iter().map(|line| line["shed"].as_bool().unwrap()).collect();
    assert_eq!(shed, [false, true, true]);
}

#[test]
fn a_limit_of_an_origin_is_not_mixed_with_the_gates() {
    let theirs = [("sluice-completed", "1"), ("retry-after", "7")];
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",500000,100000]").origin(429, &theirs, "busy");
    let response = stage.play(with(order(), "accept-language", "en"));
    assert_eq!((response.status, response.get("retry-after")), (429, Some("7")));
    assert_eq!(item(&response, "user"), (4, 1), "the gate's own limits had room");
}
