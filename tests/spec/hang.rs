//! Never a hang: whatever Redis does, a request is answered within its deadline; and which faults keep Redis from being
//! asked at all.

use sluice_upstash::TransportFault;

use crate::stage::{NOW, Stage, code, order, request};

/// `[redis] deadline_ms`.
const DEADLINE: u64 = 400;
const FOREVER: u64 = u64::MAX;
const NOSCRIPT: &str = r#"{"error":"NOSCRIPT No matching script. Please use EVAL."}"#;
const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";

fn broken() -> TransportFault {
    TransportFault::Network("reset".into())
}

/// How long the answer to an order took, by the gate's clock; the work after it does not count.
fn took(stage: &Stage) -> u64 {
    let line = stage.logged.borrow().iter().find(|line| line.contains("\"decision\"")).unwrap().clone();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    line["took_ms"].as_u64().unwrap()
}

#[test]
fn r_worldmonitor_8356_a_closed_route_answers_within_the_deadline_with_every_retry_in_it() {
    let cases: [(&str, Stage); 5] = [
        ("a black hole", Stage::default().redis("0").slow(&[FOREVER])),
        ("a lost call, then a black hole", Stage::default().redis_fails(broken()).redis("0").slow(&[300, FOREVER])),
        ("lost twice, slowly", Stage::default().redis_fails(broken()).redis_fails(broken()).slow(&[399, 399])),
        (
            "an unknown script, then a black hole",
            Stage::default().redis_says(400, NOSCRIPT).redis("0").slow(&[250, FOREVER]),
        ),
        (
            "an unknown script at the last moment",
            Stage::default().redis_says(400, NOSCRIPT).redis("0").slow(&[399, FOREVER]),
        ),
    ];
    for (about, stage) in cases {
        // The claim of a call without an answer is given up afterwards.
        let stage = (0..3).fold(stage, |stage, _| stage.redis("1"));
        assert_eq!(code(&stage.play(order())), "degraded", "{about}");
        assert!(took(&stage) <= DEADLINE, "{about}: {} ms", took(&stage));
        assert!(stage.forwarded.borrow().is_empty(), "{about}");
    }
}

/// A stage to which so many orders were refused, each by this fault.
fn after(failures: usize, fault: impl Fn(Stage) -> Stage) -> Stage {
    let stage = (0..failures).fold(Stage::default(), |stage, _| fault(stage));
    for _ in 0..failures {
        assert_eq!(code(&stage.play(request("POST", "/v1/sales/demo/token"))), "degraded");
    }
    assert_eq!(stage.commands().len(), failures);
    stage
}

/// Whether the next request is answered at once, and Redis left alone.
fn is_open(stage: &Stage) -> bool {
    let (asked, now) = (stage.commands().len(), stage.time());
    let stage = stage.clone().redis("[0,1800000000000,\"\",\"\",0,0]");
    let refused = stage.play(request("POST", "/v1/sales/demo/token"));
    let open = stage.commands().len() == asked;
    if open {
        assert_eq!((refused.status, code(&refused).as_str()), (503, "degraded"));
        assert_eq!(stage.time(), now, "at once");
    } else {
        assert_eq!(refused.status, 200);
    }
    open
}

#[test]
fn r_worldmonitor_8356_five_time_outs_open_the_breaker_and_then_a_closed_route_answers_at_once() {
    let hang = |stage: Stage| stage.redis("0").slow(&[FOREVER]);
    assert!(!is_open(&after(4, hang)));
    let stage = after(5, hang);
    assert_eq!(stage.time(), NOW + 5 * DEADLINE);
    assert!(is_open(&stage));
    stage.later(10_000);
    assert!(!is_open(&stage), "after its time one may try");
}

#[test]
fn r_brios_pr2266_a_database_that_is_suspended_over_quota_or_full_is_an_outage() {
    for text in [
        "ERR max requests limit exceeded. Limit: 500000, Usage: 500000.",
        "ERR max daily request limit exceeded",
        "ERR this database is suspended",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "MISCONF Redis is configured to save RDB snapshots",
        "LOADING Redis is loading the dataset in memory",
    ] {
        let body = serde_json::json!({ "error": text }).to_string();
        assert!(is_open(&after(5, |stage| stage.redis_says(400, &body))), "{text}");
    }
    for status in [429, 500, 502, 503] {
        assert!(is_open(&after(5, |stage| stage.redis_says(status, "busy"))), "{status}");
    }
}

#[test]
fn r_apisix_pr13579_an_unknown_script_never_counts_for_the_breaker() {
    let mut stage = Stage::default();
    for _ in 0..10 {
        stage = stage.redis_says(400, NOSCRIPT).redis("[0,1800000000000,\"\",\"\",0,0]");
    }
    for i in 0..10 {
        assert_eq!(stage.play(request("POST", "/v1/sales/demo/token")).status, 200, "{i}");
    }
}

#[test]
fn an_error_of_the_script_itself_refuses_and_is_no_outage() {
    let error = r#"{"error":"WRONGTYPE Operation against a key holding the wrong kind of value"}"#;
    assert!(!is_open(&after(10, |stage| stage.redis_says(400, error))), "r_spring_cloud_gateway_248");
}

#[test]
fn an_admission_that_comes_in_time_is_one() {
    let stage = Stage::default().redis(ADMITTED).slow(&[DEADLINE - 1]).origin(202, &[("sluice-completed", "1")], "");
    assert_eq!(stage.play(order()).status, 202);
}
