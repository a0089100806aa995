//! The bound on requests that one isolate has on their way to the origin.

use crate::stage::{Stage, code, order, order_token, request, with};

const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";
const READ: &str = "[0,1800000000100,\"\",\"\",500000]";

fn toml() -> String {
    include_str!("../../gate.toml").replacen("[[limit]]", "[origin]\nin_flight = 1\n[[limit]]", 1)
}

#[test]
fn what_is_beyond_it_is_told_so_before_anything_is_charged() {
    let stage = Stage::default().redis(ADMITTED).origin_hangs();
    stage.abandon_with(&toml(), order());
    let refused = stage.play_with(&toml(), request("GET", "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B"));
    assert_eq!((refused.status, code(&refused).as_str(), refused.get("retry-after")), (503, "busy", Some("1")));
    let other = stage.play_with(&toml(), with(order(), "sluice-order-token", &order_token(2, "42", "demo")));
    assert_eq!(code(&other), "busy");
    let body: serde_json::Value = serde_json::from_slice(&other.body).unwrap();
    assert_eq!(body["outcome_known"], false);
    assert_eq!((stage.commands().len(), stage.forwarded.borrow().len()), (1, 1));
}

#[test]
fn a_repeated_attempt_still_finds_its_outcome() {
    let stage = Stage::default().redis(ADMITTED).origin_hangs();
    stage.abandon_with(&toml(), order());
    let again = with(with(order(), "sluice-order-token", &order_token(2, "42", "demo")), "sluice-attempt", "2");
    let stage = stage.redis("[3,1800000000000,\"202\\n\\nt{}\"]");
    assert_eq!(stage.play_with(&toml(), again.clone()).status, 202);
    let stage = stage.redis("[9,1800000000000]");
    let other = with(again, "sluice-order-token", &order_token(3, "42", "demo"));
    assert_eq!(code(&stage.play_with(&toml(), other)), "busy");
    assert_eq!(stage.forwarded.borrow().len(), 1);
}

#[test]
fn a_slot_comes_back_with_the_answer_and_that_of_a_lost_request_after_its_deadline() {
    let path = "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B";
    let stage = Stage::default().redis(READ).origin(200, &[], "").redis(READ).origin_hangs();
    assert_eq!(stage.play_with(&toml(), request("GET", path)).status, 200);
    stage.abandon_with(&toml(), request("GET", path));
    stage.later(4_999);
    assert_eq!(code(&stage.play_with(&toml(), request("GET", path))), "busy");
    stage.later(1);
    let stage = stage.redis(READ).origin(200, &[], "");
    assert_eq!(stage.play_with(&toml(), request("GET", path)).status, 200);
}

#[test]
fn issuing_needs_no_slot() {
    let stage = Stage::default().redis(ADMITTED).origin_hangs();
    stage.abandon_with(&toml(), order());
    let stage = stage.redis(ADMITTED);
    assert_eq!(stage.play_with(&toml(), request("POST", "/v1/sales/demo/token")).status, 200);
}
