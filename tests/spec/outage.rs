//! Redis or the origin away: what is closed stays closed, and nothing counts as admitted that was not.

use sluice::gate::ports::OriginFault;
use sluice_upstash::TransportFault;

use crate::stage::{Stage, code, order, order_of, request};

const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";

#[test]
fn r_worldmonitor_8356_a_closed_route_is_closed_while_redis_is_away() {
    let stages = [
        Stage::default().redis_fails(TransportFault::Timeout).redis("0"),
        Stage::default().redis_says(503, "busy"),
        Stage::default().redis_says(401, r#"{"error":"WRONGPASS"}"#),
        Stage::default().redis_says(400, r#"{"error":"ERR max requests limit exceeded"}"#),
        Stage::default().redis_says(400, r#"{"error":"ERR Error running script"}"#),
        Stage::default().redis_says(200, "<html>"),
        Stage::default().redis("null"),
        Stage::default().redis("[0]"),
        Stage::default().redis("[99,1800000000000]"),
    ];
    for stage in stages {
        let response = stage.play(order());
        assert_eq!((response.status, code(&response).as_str()), (503, "degraded"));
        assert_eq!(response.get("retry-after"), Some("2"));
        assert!(stage.forwarded.borrow().is_empty());
        assert_eq!(stage.faults().len(), 1, "each is logged");
    }
}

#[test]
fn r_redis_js_1389_a_wrong_token_is_logged_as_a_misconfiguration() {
    let stage = Stage::default().redis_says(401, "");
    stage.play(order());
    assert!(stage.faults()[0].contains("misconfigured"), "{:?}", stage.faults());
}

#[test]
fn an_open_route_passes_without_limits_while_redis_is_away() {
    let stage = Stage::default().redis_fails(TransportFault::Timeout).origin(200, &[], "{}");
    let response = stage.play(request("GET", "/v1/sales/demo/details"));
    assert_eq!((response.status, response.get("ratelimit")), (200, None));
    let line = stage.decisions().remove(0);
    assert_eq!((line["verdict"].as_str(), line["degraded"].as_bool()), (Some("degraded"), Some(true)), "{line}");
}

/// gate.toml with the sale's page limited by the isolate itself while Redis is away: 40 at once, 20 a second.
fn local() -> String {
    let gate = include_str!("../../gate.toml");
    let page = "path = \"/v1/sales/{sku}/details\"\nuser = \"optional\"\nlimits = [\"read\"]\non_redis_down = ";
    assert!(gate.contains(page));
    gate.replace(&format!("{page}\"open\""), &format!("{page}\"local\""))
}

#[test]
fn a_local_route_is_limited_by_the_isolate_while_redis_is_away() {
    let mut stage = Stage::default();
    for _ in 0..5 {
        stage = stage.redis_fails(TransportFault::Timeout);
    }
    for i in 0..40 {
        stage = stage.origin(200, &[], "{}");
        let passed = stage.play_with(&local(), request("GET", "/v1/sales/demo/details"));
        assert_eq!(passed.status, 200, "{i}");
    }
    assert_eq!(stage.commands().len(), 5, "the breaker is open, and the limit holds on");
    let refused = stage.play_with(&local(), request("GET", "/v1/sales/demo/details"));
    assert_eq!((refused.status, code(&refused).as_str()), (429, "too_many_requests"));
    assert_eq!((refused.get("retry-after"), refused.get("ratelimit")), (Some("1"), Some("\"read\";r=0;t=2")));
    stage.later(50);
    let stage = stage.origin(200, &[], "{}");
    assert_eq!(stage.play_with(&local(), request("GET", "/v1/sales/demo/details")).status, 200);
    let decisions: Vec<String> = stage.logged.borrow().iter().filter(|l| l.contains("\"decision\"")).cloned().collect();
    assert_eq!(decisions.len(), 42, "each is logged");
    assert!(decisions.iter().all(|line| line.contains("\"degraded\":true")));
    assert!(decisions[0].contains("\"verdict\":\"degraded\""), "never admitted: {}", decisions[0]);
    assert!(stage.forwarded.borrow().len() == 41);
}

#[test]
fn an_open_route_that_redis_reaches_too_late_is_open() {
    let stage = Stage::default().redis("[6,1800000000000]").origin(200, &[], "{}");
    assert_eq!(stage.play(request("GET", "/v1/sales/demo/details")).status, 200);
}

#[test]
fn a_call_that_broke_off_is_repeated_once_under_the_same_nonce() {
    let broken = || TransportFault::Network("reset".into());
    let stage = Stage::default().redis_fails(broken()).redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "");
    assert_eq!(stage.play(order()).status, 202);
    assert_eq!(stage.asked.borrow()[0], stage.asked.borrow()[1]);

    let stage = Stage::default().redis_fails(broken()).redis_fails(broken()).redis("0");
    assert_eq!(code(&stage.play(order())), "degraded");
}

#[test]
fn the_claim_of_a_call_without_an_answer_is_given_up_for_nothing_was_begun_under_it() {
    let stage = Stage::default().redis_fails(TransportFault::Timeout).redis("1");
    assert_eq!(code(&stage.play(order())), "degraded");
    assert_eq!(stage.commands(), ["EVALSHA", "EVAL"]);
    assert_eq!(stage.keys(1)[0], stage.keys(0)[0]);
    assert_eq!(stage.args(1), [stage.args(0)[0].clone(), 0.into()]);
}

#[test]
fn r_ratelimit_js_122_an_unknown_script_is_sent_in_full_once() {
    let noscript = r#"{"error":"NOSCRIPT No matching script. Please use EVAL."}"#;
    let stage =
        Stage::default().redis_says(400, noscript).redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "");
    assert_eq!(stage.play(order()).status, 202);
    assert_eq!(stage.commands(), ["EVALSHA", "EVAL"]);
}

#[test]
fn an_origin_that_does_not_answer_leaves_an_ambiguous_outcome_that_may_be_tried_again() {
    let cases = [(OriginFault::Unreachable, 502, "origin_unreachable"), (OriginFault::Timeout, 504, "origin_timeout")];
    for (fault, status, expected) in cases {
        let stage = Stage::default().redis(ADMITTED).origin_fails(fault).redis("1");
        let response = stage.play(order());
        assert_eq!((response.status, code(&response).as_str()), (status, expected));
        assert_eq!(response.get("retry-after"), Some("5"), "not before the first attempt can no longer begin");
        let freed = stage.asked.borrow()[1].clone();
        assert_eq!(freed.as_array().unwrap().last().unwrap(), 1_800_000_000_100u64 + 5_000);
    }
}

#[test]
fn where_the_origin_does_not_dedupe_an_ambiguous_outcome_is_held() {
    let held = include_str!("../../gate.toml").replace("on_ambiguous = \"retry\"", "");
    let stage = Stage::default().redis(ADMITTED).origin_fails(OriginFault::Timeout);
    assert_eq!(stage.play_with(&held, order()).status, 504);
    assert_eq!(stage.commands().len(), 1, "the claim stays as it is");
    assert_eq!(stage.args(0)[5], 1, "and was written as held from the start");
}

#[test]
fn r_truxify_4623_a_late_completion_is_logged_and_the_answer_stands() {
    let stage = Stage::default().redis(ADMITTED).origin(201, &[], "made").redis("0");
    let response = stage.play(order());
    assert_eq!((response.status, response.body.as_slice()), (201, &b"made"[..]));
    let faults = stage.faults();
    assert!(faults.len() == 1 && faults[0].contains("another owner"), "{faults:?}");
}

#[test]
fn a_claim_that_could_not_be_finished_is_logged_and_the_answer_stands() {
    let stage = Stage::default().redis(ADMITTED).origin(404, &[], "no").redis_fails(TransportFault::Timeout);
    assert_eq!(stage.play(order()).status, 404);
    assert_eq!(stage.faults().len(), 1);
}

#[test]
fn r_apisix_pr13579_unknown_scripts_never_open_the_breaker() {
    let noscript = r#"{"error":"NOSCRIPT No matching script. Please use EVAL."}"#;
    let mut stage = Stage::default();
    for user in 0..20 {
        stage = stage.redis_says(400, noscript).redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "");
        assert_eq!(stage.play(order_of(&user.to_string())).status, 202, "{user}");
    }
    assert_eq!(stage.commands().len(), 40);
}

#[test]
fn r_shenyu_2808_a_script_error_follows_the_outage_policy_and_is_never_an_admission() {
    let errors = [
        "ERR Error running script (call to f_1): @user_script:1: attempt to compare nil with number",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "CROSSSLOT Keys in request don't hash to the same slot",
        "NOPERM this user has no permissions to run the 'evalsha' command",
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        "ERR unknown command",
        "",
    ];
    for error in errors {
        let said = serde_json::json!({ "error": error }).to_string();
        let closed = Stage::default().redis_says(400, &said);
        let refused = closed.play(order());
        assert_eq!((refused.status, code(&refused).as_str()), (503, "degraded"), "{error}");
        assert!(closed.forwarded.borrow().is_empty(), "{error}");

        let open = Stage::default().redis_says(400, &said).origin(200, &[], "");
        let passed = open.play(request("GET", "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B"));
        assert_eq!((passed.status, passed.get("ratelimit")), (200, None), "{error}: no limit is claimed to hold");
        assert_eq!(open.decisions()[0]["verdict"], "degraded", "{error}: and it does not count as admitted");
        for stage in [closed, open] {
            assert_eq!(stage.faults().len(), 1, "{error}: each is logged");
        }
    }
}
