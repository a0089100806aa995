//! What an isolate refuses or repeats from memory alone, and when it asks Redis all the same.

use sluice::gate::ports::Request;
use sluice::model::Millis;
use sluice::token::OrderTokens;

use crate::stage::{NOW, Stage, TOKENS, code, order, order_of, request, with};

const ADMITTED: &str = "[0,1800000000000,\"\",\"\",500000,100000]";
const DONE: &[(&str, &str)] = &[("sluice-completed", "1"), ("sluice-outcome", "final")];

fn again(request: Request) -> Request {
    with(request, "sluice-attempt", "2")
}

fn outcome_known(response: &sluice::api::response::Response) -> Option<bool> {
    serde_json::from_slice::<serde_json::Value>(&response.body).unwrap()["outcome_known"].as_bool()
}

/// Redis says that the sale of an hour is in this state.
fn shut(paused: u8, stock: &str) -> String {
    format!("[8,1800000000000,\"1799999000000,1800003600000,{paused},{stock},9\"]")
}

#[test]
fn a_sold_out_sale_is_asked_for_once_an_isolate_and_second() {
    let stage = Stage::default().redis(&shut(0, "0"));
    let first = stage.play(order_of("1"));
    assert_eq!((first.status, code(&first).as_str(), outcome_known(&first)), (409, "sold_out", None));
    assert_eq!(stage.keys(0)[1..3], ["sl1:{p0}:sale:demo", "sl1:{p0}:stock:demo"]);
    for user in ["2", "3", "4"] {
        let shed = stage.play(order_of(user));
        assert_eq!((code(&shed).as_str(), outcome_known(&shed)), ("sold_out", Some(false)));
    }
    assert_eq!(stage.commands().len(), 1);
    stage.later(1_000);
    let stage = stage.redis("[0,1800000001000,\"1799999000000,1800003600000,0,5,9\",\"\",0,0]").origin(202, DONE, "{}");
    assert_eq!(stage.play(order_of("2")).status, 202, "a restock is seen within a second");
}

#[test]
fn one_caller_brings_the_snapshot_and_the_others_do_not_touch_the_sales_keys() {
    let open = "[0,1800000000000,\"1799999000000,1800003600000,0,5,9\",\"\",0,0]";
    let stage = Stage::default().redis(open).origin(202, DONE, "{}").redis(ADMITTED).origin(202, DONE, "{}");
    stage.play(order_of("1"));
    stage.play(order_of("2"));
    assert_eq!((stage.keys(0).len(), stage.keys(1).len()), (5, 3));
}

#[test]
fn a_paused_and_a_coming_sale_are_refused_with_the_time_to_come_back() {
    let stage = Stage::default().redis(&shut(1, "5"));
    let paused = stage.play(order());
    assert_eq!((paused.status, code(&paused).as_str(), paused.get("retry-after")), (503, "sale_paused", Some("2")));
    let stage = Stage::default().redis("[8,1800000000000,\"1800000030500,1800003600000,0,5,9\"]");
    let coming = stage.play(order());
    assert_eq!((code(&coming).as_str(), coming.get("retry-after")), ("sale_not_started", Some("31")));
}

#[test]
fn a_repeated_attempt_carries_the_refusal_to_redis_which_knows_of_an_outcome_or_not() {
    let stage = Stage::default().redis(&shut(0, "0"));
    stage.play(order_of("1"));
    let stage = stage.redis("[9,1800000000000]");
    let refused = stage.play(again(order_of("2")));
    assert_eq!((code(&refused).as_str(), outcome_known(&refused)), ("sold_out", None), "no claim: nothing was ordered");
    assert_eq!(stage.args(1)[9], 1);
    assert!(stage.forwarded.borrow().is_empty());
    let stage = stage.redis("[3,1800000000000,\"202\\n\\nt{}\"]");
    let replayed = stage.play(again(order_of("3")));
    assert_eq!((replayed.status, replayed.get("idempotency-replayed")), (202, Some("true")));
}

#[test]
fn repeated_attempts_that_memory_would_refuse_are_bounded() {
    let stage = Stage::default().redis(&shut(0, "0"));
    stage.play(order_of("0"));
    let stage = (0..200).fold(stage, |stage, _| stage.redis("[9,1800000000000]"));
    for _ in 0..300 {
        assert_eq!(code(&stage.play(again(order_of("2")))), "sold_out");
    }
    assert_eq!(stage.commands().len(), 201);
}

#[test]
fn r_idempot_js_184_duplicates_of_an_answered_operation_cost_no_call() {
    let stage = Stage::default().redis(ADMITTED).origin(202, DONE, "{\"order_id\":\"1\"}");
    let first = stage.play(order());
    for _ in 0..1_000 {
        let again = stage.play(order());
        assert_eq!((again.status, &again.body), (202, &first.body));
        assert_eq!(again.get("idempotency-replayed"), Some("true"));
    }
    assert_eq!((stage.commands().len(), stage.forwarded.borrow().len()), (1, 1));
    let stage = stage.redis("[4,1800000000000,\"\",0,0]");
    let mut other = order();
    other.body = sluice::gate::ports::Body::Whole(br#"{"quantity":2}"#.to_vec());
    assert_eq!(code(&stage.play(other)), "idempotency_mismatch", "another body is for Redis to judge");
}

#[test]
fn a_user_who_was_refused_is_refused_again_from_memory_and_passes_in_time() {
    let stage = Stage::default().redis("[1,1800000000000,\"\",2500000,0]");
    let first = stage.play(order());
    let second = stage.play(order());
    assert_eq!((first.status, second.status), (429, 429));
    assert_eq!((first.get("retry-after"), second.get("retry-after")), (Some("1"), Some("1")));
    assert_eq!(outcome_known(&second), Some(false));
    let token = with(request("POST", "/v1/sales/demo/token"), "cf-connecting-ip", "9.9.9.9");
    let stage = stage.redis(ADMITTED);
    assert_eq!(stage.play(token).status, 200, "another limit is another bucket");
    stage.later(510);
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}");
    assert_eq!(stage.play(order()).status, 202);
}

#[test]
fn an_expired_token_still_finds_its_operations_outcome() {
    let stage = Stage::default();
    let (user, sku) = (sluice::model::User::parse("42").unwrap(), sluice::model::Sku::parse("demo").unwrap());
    let over = OrderTokens::new(TOKENS).unwrap().issue([9; 16], &user, &sku, Millis(NOW - 1));
    let late = with(order(), "sluice-order-token", &over);
    let refused = stage.play(late.clone());
    assert_eq!((code(&refused).as_str(), outcome_known(&refused)), ("token_expired", Some(false)));
    assert!(stage.is_untouched());
    let stage = stage.redis("[3,1800000000000,\"202\\n\\nt{}\"]").redis("[9,1800000000000]");
    assert_eq!(stage.play(again(late.clone())).status, 202);
    stage.later(1_000);
    assert_eq!(code(&stage.play(again(late))), "token_expired");
}

#[test]
fn the_origins_mark_sheds_what_comes_after_it() {
    let sold_out = &[("sluice-outcome", "passing"), ("sluice-completed", "1"), ("sluice-sold-out", "1800000000001")];
    let open = "[0,1800000000000,\"1799999000000,1800003600000,0,1,9\",\"\",0,0]";
    let stage = Stage::default().redis(open).origin(409, sold_out, "{}");
    assert_eq!(stage.play(order_of("1")).status, 409);
    let shed = stage.play(order_of("2"));
    assert_eq!((code(&shed).as_str(), stage.commands().len()), ("sold_out", 1));
}

#[test]
fn a_sale_that_the_origin_does_not_know_is_not_asked_for_again_at_once() {
    let problem = [("content-type", "application/problem+json")];
    let stage =
        Stage::default().redis("[0,1800000000000,\"\",\"\",0]").origin(404, &problem, r#"{"code":"sale_unknown"}"#);
    assert_eq!(stage.play(request("GET", "/v1/sales/nothing/details")).status, 404);
    assert_eq!(code(&stage.play(request("GET", "/v1/sales/nothing/details"))), "sale_unknown");
    assert_eq!(stage.commands().len(), 1);
}

#[test]
fn after_five_failures_redis_is_left_alone_for_ten_seconds_and_then_one_call_tries() {
    let busy = |stage: Stage| stage.redis_says(503, "busy");
    let stage = (0..5).fold(Stage::default(), |stage, _| busy(stage));
    for user in ["1", "2", "3", "4", "5", "6", "7"] {
        assert_eq!(code(&stage.play(order_of(user))), "degraded");
    }
    assert_eq!(stage.commands().len(), 5);
    let refused = stage.play(order());
    assert_eq!(refused.get("retry-after"), Some("10"));
    stage.later(10_000);
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}");
    assert_eq!(stage.play(order()).status, 202);
}

#[test]
fn r_redis_js_1389_a_wrong_token_opens_the_breaker_at_once() {
    let stage = Stage::default().redis_says(401, "");
    stage.play(order_of("1"));
    assert_eq!(code(&stage.play(order_of("2"))), "degraded");
    assert_eq!(stage.commands().len(), 1);
}

#[test]
fn a_call_is_bounded_by_redis_own_time_once_that_is_known() {
    let stage = Stage::default().redis(ADMITTED).origin(202, DONE, "{}").redis(ADMITTED).origin(202, DONE, "{}");
    stage.play(order_of("1"));
    stage.play(order_of("2"));
    assert_eq!(stage.args(0)[6], 0);
    let call_by = stage.args(1)[6].as_u64().unwrap();
    assert!((NOW + 400..NOW + 405).contains(&call_by), "{call_by}");
}

#[test]
fn a_token_fetched_long_before_the_start_holds_until_ten_minutes_after_it() {
    let coming = "[0,1800000000000,\"1800003600000,1800007200000,0,5,9\",\"\",0,0]";
    let stage = Stage::default().redis(coming);
    let response = stage.play(request("POST", "/v1/sales/demo/token"));
    let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(body["expires_at"], 1_800_003_600_000u64 + 600_000);
    assert_eq!((stage.args(0)[8].clone(), stage.keys(0)[0].as_str()), (2.into(), "sl1:{p0}:sale:demo"));
}
