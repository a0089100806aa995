//! The life of a request: what is refused before any network, what Redis decides, what the origin sees, what is kept.

use sluice::api::answer;
use sluice::api::response::Response;
use sluice::assertion::Assertions;
use sluice::gate::ports::Body;
use sluice::model::Millis;

use crate::stage::{ASSERTIONS, NOW, Stage, code, order, order_token, request, user_jwt, with};

/// Redis admits: both buckets were charged.
const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";

#[test]
fn what_is_wrong_with_a_request_alone_is_told_without_any_network() {
    let quantity = |body: &str| {
        let mut request = order();
        request.body = Body::Whole(body.as_bytes().to_vec());
        request
    };
    let mut too_large = order();
    too_large.body = Body::TooLarge;
    let token = |token: &str| with(order(), "sluice-order-token", token);
    let forged = order_token(1, "42", "demo").replace('A', "B");
    let cases = [
        (request("POST", "/v1/sales/a%2fb/orders"), 400, "invalid_path"),
        (request("POST", "/v1/sales/%61/orders"), 400, "invalid_sku"),
        (request("GET", "/nowhere"), 404, "not_found"),
        (request("GET", "/__gate/config"), 404, "not_found"),
        (request("DELETE", "/v1/sales/demo/orders"), 405, "method_not_allowed"),
        (with(order(), "authorization", "Bearer nonsense"), 401, "identity_invalid"),
        (with(order(), "authorization", "Basic dTpw"), 401, "identity_invalid"),
        (with(order(), "authorization", ""), 401, "identity_invalid"),
        (token(""), 403, "token_invalid"),
        (token(&forged), 403, "token_invalid"),
        (token(&order_token(1, "43", "demo")), 403, "token_not_yours"),
        (token(&order_token(1, "42", "other")), 403, "token_not_yours"),
        (with(order(), "content-type", "text/plain"), 415, "unsupported_media_type"),
        (too_large, 413, "body_too_large"),
        (quantity(&" ".repeat(65_537)), 413, "body_too_large"),
        (quantity("{\"quantity\":0}"), 400, "invalid_quantity"),
        (quantity("nonsense"), 400, "invalid_body"),
    ];
    for (request, status, expected) in cases {
        let (stage, shown) = (Stage::default(), format!("{request:?}"));
        let response = stage.play(request);
        assert_eq!((response.status, code(&response).as_str()), (status, expected), "{shown}");
        assert!(stage.is_untouched(), "{shown}");
    }
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let allow = |method, path| Stage::default().play(request(method, path)).get("allow").map(str::to_owned);
    assert_eq!(allow("PUT", "/v1/sales/demo/orders").as_deref(), Some("POST"));
    assert_eq!(allow("POST", "/v1/sales/demo").as_deref(), Some("GET, HEAD"));
    assert_eq!(allow("POST", "/healthz").as_deref(), Some("GET, HEAD"));
    assert_eq!(allow("POST", "/nowhere"), None);
}

#[test]
fn a_token_that_is_over_is_told_so() {
    let stage = Stage::default();
    let late = order();
    stage.later(600_000);
    assert_eq!(code(&stage.play(late)), "token_expired");
    assert!(stage.is_untouched());
}

#[test]
fn r_kong_6837_a_request_without_a_user_or_a_token_is_asked_for_one() {
    let stage = Stage::default();
    let mut anonymous = order();
    anonymous.headers.retain(|(name, _)| name != "authorization");
    let response = stage.play(anonymous);
    assert_eq!((code(&response).as_str(), response.get("www-authenticate")), ("identity_missing", Some("Bearer")));
    let mut without = order();
    without.headers.retain(|(name, _)| name != "sluice-order-token");
    assert_eq!(code(&stage.play(without)), "token_missing");
}

#[test]
fn an_order_that_is_admitted_reaches_the_origin_with_an_assertion_and_its_op_id() {
    let stage =
        Stage::default().redis(ADMITTED).origin(202, &[("sluice-completed", "1"), ("sluice-outcome", "final")], "{}");
    let spoofed = with(with(order(), "x-forwarded-for", "9.9.9.9"), "sluice-assertion", "mine");
    let response = stage.play(spoofed);
    assert_eq!((response.status, response.body.as_slice()), (202, &b"{}"[..]));
    assert_eq!(response.get("ratelimit"), Some("\"user\";r=4;t=1, \"ip\";r=19;t=1"));
    assert!(!response.headers.iter().any(|(name, _)| name.starts_with("sluice-")), "{response:?}");
    assert_eq!(stage.commands(), ["EVALSHA"], "one round trip, and the origin finished the claim itself");

    let forwarded = stage.forwarded.borrow()[0].clone();
    let header = |name: &str| -> Vec<String> {
        forwarded.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.clone()).collect()
    };
    assert!(header("x-forwarded-for").is_empty() && header("sluice-order-token").is_empty());
    let assertions = header("sluice-assertion");
    assert_eq!(assertions.len(), 1, "the client's own did not survive");
    let assertion = Assertions::new(ASSERTIONS).unwrap().verify(&assertions[0], Millis(NOW)).unwrap();
    assert_eq!((assertion.sub.as_deref(), assertion.ip.as_deref()), (Some("42"), Some("1.2.3.4")));
    let op = assertion.op.unwrap();
    assert_eq!(header("idempotency-key"), std::slice::from_ref(&op.id));
    assert_eq!(op.not_after, 1_800_000_000_100 + 5_000, "Redis' time and the forwarding deadline");
    assert_eq!(op.claim, format!("sl1:{{p0}}:claim:{}", op.id));
}

#[test]
fn an_operation_is_the_same_for_every_attempt_and_another_for_every_user_and_token() {
    let op = |request| {
        let stage = Stage::default().redis("[2,1800000000000,1800000030000]");
        assert_eq!(code(&stage.play(request)), "in_progress");
        let asked = stage.asked.borrow()[0].clone();
        asked[3].as_str().unwrap().to_owned()
    };
    let first = op(order());
    assert_eq!(op(with(order(), "user-agent", "another")), first);
    assert_ne!(op(with(order(), "sluice-order-token", &order_token(2, "42", "demo"))), first);
    let other = with(order(), "authorization", &format!("Bearer {}", user_jwt("43")));
    assert_ne!(op(with(other, "sluice-order-token", &order_token(1, "43", "demo"))), first);
}

#[test]
fn verdicts_of_redis_are_answers_and_the_origin_sees_nothing() {
    let cases = [
        ("[1,1800000000000,\"\",2500000,0]", 429, "too_many_requests", Some("1")),
        ("[2,1800000000000,1800000000300]", 409, "in_progress", Some("1")),
        ("[4,1800000000000,\"\",0,0]", 422, "idempotency_mismatch", None),
        ("[5,1800000000000]", 409, "outcome_unknown", None),
        ("[7,1800000000000]", 409, "outcome_unknown", None),
        ("[6,1800000000000]", 503, "degraded", Some("2")),
    ];
    for (reply, status, expected, retry_after) in cases {
        let stage = Stage::default().redis(reply);
        let response = stage.play(order());
        assert_eq!((response.status, code(&response).as_str()), (status, expected), "{reply}");
        assert_eq!(response.get("retry-after"), retry_after, "{reply}");
        assert!(stage.forwarded.borrow().is_empty(), "{reply}");
        assert_eq!(response.get("cache-control"), Some("private, no-store"));
    }
}

#[test]
fn r_remitlend_pr1680_a_replay_keeps_status_headers_and_bytes() {
    let mut first = Response::json(201, b"{\"a\": 1}".to_vec());
    first.header("location", "/v1/orders/1");
    let packed = serde_json::to_string(&answer::pack(&first, "")).unwrap();
    let stage = Stage::default().redis(&format!("[3,1800000000000,{packed}]"));
    let response = stage.play(order());
    assert_eq!((response.status, &response.body), (201, &first.body));
    assert_eq!(response.get("location"), Some("/v1/orders/1"));
    assert_eq!(response.get("idempotency-replayed"), Some("true"));
}

#[test]
fn r_idempotency_46_only_a_replay_says_that_it_is_one_and_answers_hold_for_the_documented_time() {
    const DONE: &[(&str, &str)] =
        &[("sluice-completed", "1"), ("sluice-outcome", "final"), ("idempotency-replayed", "of the origin")];
    let stage = Stage::default().redis(ADMITTED).origin(202, DONE, "{}");
    let first = stage.play(order());
    let from_memory = stage.play(order());
    let kept = serde_json::to_string(&answer::pack(&first, "")).unwrap();
    let from_redis = Stage::default().redis(&format!("[3,1800000000000,{kept}]")).play(order());
    assert_ne!(first.get("idempotency-replayed"), Some("true"));
    for replay in [from_memory, from_redis] {
        let told: Vec<_> = replay.headers.iter().filter(|(name, _)| name == "idempotency-replayed").collect();
        assert!(told.len() == 1 && told[0].1 == "true", "{told:?}");
        assert_eq!((replay.status, &replay.body), (first.status, &first.body));
    }
    let retention = stage.args(0)[4].as_u64().unwrap();
    assert_eq!(retention, 86_400_000);
    let documented = include_str!("../../docs/configuration.md");
    assert!(documented.contains(&format!("| `retention_ms` | 1 min to 30 d | {retention} |")));
}

#[test]
fn a_final_answer_is_kept_and_a_passing_one_frees_the_operation() {
    let stage = Stage::default().redis(ADMITTED).origin(409, &[("sluice-outcome", "final")], "no").redis("1");
    stage.play(order());
    let kept = stage.asked.borrow()[1].clone();
    assert_eq!(kept.as_array().unwrap().last().unwrap(), "409\n\ntno");

    let stage = Stage::default().redis(ADMITTED).origin(409, &[("sluice-outcome", "passing")], "no").redis("1");
    stage.play(order());
    let freed = stage.asked.borrow()[1].clone();
    assert_eq!(freed.as_array().unwrap().last().unwrap(), 0);
}

#[test]
fn a_lapsed_claim_that_is_taken_over_keeps_its_op_id() {
    let stage =
        Stage::default().redis("[0,1800000000000,\"\",\"kept\",0,0]").origin(202, &[("sluice-completed", "1")], "");
    stage.play(order());
    let forwarded = stage.forwarded.borrow()[0].clone();
    assert!(forwarded.headers.contains(&("idempotency-key".into(), "kept".into())));
}

#[test]
fn a_token_is_issued_by_the_gate_alone() {
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",0,0]");
    let response = stage.play(request("POST", "/v1/sales/demo/token"));
    let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!((response.status, body["expires_at"].as_u64()), (200, Some(NOW + 600_000)));
    let stage = Stage::default().redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "");
    let with_it = with(order(), "sluice-order-token", body["token"].as_str().unwrap());
    assert_eq!(stage.play(with_it).status, 202);
}

#[test]
fn a_decision_is_logged_without_anything_that_the_client_sent() {
    let stage = Stage::default().redis("[1,1800000000000,\"\",2500000,0]");
    stage.play(with(order(), "user-agent", "a-secret-agent"));
    let line = stage.logged.borrow()[0].clone();
    assert!(line.contains("\"route\":\"order\"") && line.contains("\"verdict\":\"too_many_requests\""), "{line}");
    for secret in ["1.2.3.4", "a-secret-agent", &user_jwt("42"), &order_token(1, "42", "demo")] {
        assert!(!line.contains(secret), "{line}");
    }
}

#[test]
fn health_needs_nobody() {
    let stage = Stage::default();
    assert_eq!(stage.play(request("GET", "/healthz")).status, 200);
    assert!(stage.is_untouched());
}
