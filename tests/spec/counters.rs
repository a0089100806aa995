//! What isolates count about a sale, and how Redis is told: with a call that is made anyway, and once.

use serde_json::{Value, json};
use sluice_upstash::TransportFault;

use crate::stage::{Stage, code, order_of, request};

const OPEN: &str = "1799999000000,1800003600000,0,5,1999";
const KEY: &str = "sl1:{p0}:count:demo";
const DONE: &[(&str, &str)] = &[("sluice-completed", "1"), ("sluice-outcome", "final")];

fn sold_out(at: u64) -> String {
    format!("[8,{at},\"1799999000000,1800003600000,0,0,1999\"]")
}

/// What was added to the counters so far, in order.
fn added(stage: &Stage) -> Vec<(String, u64)> {
    let also = stage.also.borrow();
    let adds = also.iter().filter(|command| command[0] == "HINCRBY");
    adds.map(|add| {
        assert_eq!(add[1], KEY);
        (add[2].as_str().unwrap().to_owned(), add[3].as_u64().unwrap())
    })
    .collect()
}

#[test]
fn requests_that_were_shed_are_counted_with_the_next_call_that_is_made_anyway() {
    let stage = Stage::default().redis(&sold_out(1_800_000_000_000));
    for user in 0..100 {
        assert_eq!(code(&stage.play(order_of(&user.to_string()))), "sold_out");
    }
    assert_eq!((stage.commands().len(), added(&stage).len()), (1, 0), "no call for counting");
    stage.later(1_000);
    let stage = stage.redis(&sold_out(1_800_000_001_000));
    stage.play(order_of("1"));
    assert_eq!(added(&stage), [("sold_out".to_owned(), 100), ("shed".to_owned(), 99)]);
    assert_eq!(stage.also.borrow().last().unwrap(), &json!(["PEXPIRE", KEY, 604_800_000]));
    assert_eq!(stage.commands(), ["EVALSHA", "EVALSHA"], "one request each");
}

#[test]
fn r_envoyproxy_ratelimit_808_each_verdict_is_counted_as_redis_said_it() {
    let admitted = format!("[0,1800000000000,\"{OPEN}\",\"\",0,0]");
    let limited = "[1,1800000000000,\"\",2500000,0]";
    let stage = Stage::default().redis(&admitted).origin(202, DONE, "{}").redis(limited).redis("[6,1800000000000]");
    let stage = stage.redis("[3,1800000000000,\"202\\n\\nt{}\"]");
    for user in ["1", "2", "3", "4"] {
        stage.play(order_of(user));
    }
    stage.later(1_000);
    let stage = stage.redis(&admitted).origin(202, DONE, "{}");
    stage.play(order_of("5"));
    let mut counted = added(&stage);
    counted.sort();
    let one = |name: &str| (name.to_owned(), 1);
    assert_eq!(counted, [one("admitted"), one("degraded"), one("replay"), one("too_many_requests")]);
}

#[test]
fn a_call_that_is_lost_takes_its_counts_along_and_nothing_is_counted_twice() {
    let stage = Stage::default().redis(&sold_out(1_800_000_000_000));
    (0..10).for_each(|user| drop(stage.play(order_of(&user.to_string()))));
    stage.later(1_000);
    let broken = || TransportFault::Network("reset".into());
    let stage = stage.redis_fails(broken()).redis_fails(broken()).redis("0");
    assert_eq!(code(&stage.play(order_of("1"))), "degraded");
    assert_eq!(added(&stage), [("sold_out".to_owned(), 10), ("shed".to_owned(), 9)], "the retry carries none");
    stage.later(1_000);
    let stage = stage.redis(&sold_out(1_800_000_002_000));
    stage.play(order_of("2"));
    assert_eq!(added(&stage)[2..], [("degraded".to_owned(), 1)]);
}

#[test]
fn r_ratelimit_js_122_a_script_that_redis_has_forgotten_is_sent_alone() {
    let stage = Stage::default().redis(&sold_out(1_800_000_000_000));
    (0..10).for_each(|user| drop(stage.play(order_of(&user.to_string()))));
    stage.later(1_000);
    let stage =
        stage.redis_says(200, r#"{"error":"NOSCRIPT No matching script."}"#).redis(&sold_out(1_800_000_001_000));
    assert_eq!(code(&stage.play(order_of("1"))), "sold_out");
    assert_eq!(stage.commands(), ["EVALSHA", "EVALSHA", "EVAL"]);
    assert_eq!(added(&stage).len(), 2);
}

#[test]
fn made_up_sales_are_not_counted() {
    let stage = Stage::default();
    let stage = (0..20).fold(stage, |stage, _| stage.redis("[0,1800000000000,\"-\",\"\",0,0]"));
    for n in 0..20 {
        stage.play(request("POST", &format!("/v1/sales/x{n}/token")));
    }
    stage.later(1_000);
    let stage = (0..20).fold(stage, |stage, _| stage.redis("[0,1800000001000,\"-\",\"\",0,0]"));
    for n in 0..20 {
        stage.play(request("POST", &format!("/v1/sales/x{n}/token")));
    }
    assert!(stage.also.borrow().is_empty());
}

#[test]
fn each_decision_is_measured_where_there_is_a_place_for_it() {
    let stage = Stage::default().redis(&sold_out(1_800_000_000_000));
    stage.play(order_of("1"));
    assert!(stage.measured.borrow().is_empty());
    let stage = Stage::default().redis(&sold_out(1_800_000_000_000));
    stage.measures.set(true);
    stage.play(order_of("1"));
    stage.play(order_of("2"));
    stage.play(request("GET", "/nothing"));
    assert_eq!(
        *stage.measured.borrow(),
        [
            "order sold_out demo Millis(0) Some(Millis(0)) None",
            "order sold_out demo Millis(0) None None",
            " not_found  Millis(0) None None",
        ]
    );
}

#[test]
fn operators_read_what_all_isolates_have_counted() {
    let stage = Stage::default().redis(r#"["admitted","12","sold_out","3456"]"#);
    stage.admin.replace("the-token-of-operators-0000000000".to_owned());
    let asked = crate::stage::with(
        request("GET", "/__gate/counters"),
        "authorization",
        "Bearer the-token-of-operators-0000000000",
    );
    assert_eq!(code(&stage.play(asked.clone())), "invalid_sku");
    let asked = sluice::gate::ports::Request { query: "sku=demo".into(), ..asked };
    let body: Value = serde_json::from_slice(&stage.play(asked).body).unwrap();
    assert_eq!(body, json!({"sku": "demo", "counters": {"admitted": 12, "sold_out": 3456}}));
    assert_eq!(stage.asked.borrow()[0], json!(["HGETALL", KEY]));
}
