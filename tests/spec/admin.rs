//! What operators ask and change: only with their token, logged, and never with anybody's id in the log.

use serde_json::{Value, json};
use sluice::api::response::Response;
use sluice::gate::ports::{Body, Request};

use crate::stage::{ASSERTIONS, Stage, TOKENS, USERS, code, order, order_token, request, with};

const ADMIN: &str = "the-token-of-operators-0000000000";
const TIME: &str = "{\"result\":[\"1800000000\",\"500\"]}";

fn stage() -> Stage {
    let stage = Stage::default();
    stage.admin.replace(format!("another-token-of-operators-000000,{ADMIN}"));
    stage
}

fn asked(method: &str, path: &str, token: &str) -> Request {
    with(request(method, path), "authorization", &format!("Bearer {token}"))
}

fn sent(what: &str, body: &Value) -> Request {
    let mut request = asked("POST", &format!("/__gate/{what}"), ADMIN);
    request.body = Body::Whole(body.to_string().into_bytes());
    request
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

fn uses(stage: &Stage) -> Vec<String> {
    stage.faults().into_iter().filter(|line| line.contains("\"admin\"")).collect()
}

#[test]
fn without_a_token_in_the_environment_there_is_nothing() {
    let stage = Stage::default();
    for (method, path) in
        [("GET", "config"), ("GET", "probe"), ("POST", "peek"), ("POST", "reset"), ("GET", "counters")]
    {
        for token in ["", ADMIN] {
            assert_eq!(code(&stage.play(asked(method, &format!("/__gate/{path}"), token))), "not_found", "{path}");
        }
    }
    assert!(stage.is_untouched());
}

#[test]
fn a_wrong_token_learns_nothing_and_a_flood_of_them_does_not_keep_operators_out() {
    let stage = stage();
    for token in ["", "x", &ADMIN[1..], &ADMIN.to_uppercase(), USERS] {
        for path in ["config", "nothing"] {
            assert_eq!(code(&stage.play(asked("GET", &format!("/__gate/{path}"), token))), "identity_invalid");
        }
    }
    let mut without = request("GET", "/__gate/config");
    without.headers.retain(|(name, _)| name != "authorization");
    assert_eq!(code(&stage.play(without)), "identity_missing");
    let codes: Vec<String> = (0..30).map(|_| code(&stage.play(asked("GET", "/__gate/config", "x")))).collect();
    assert_eq!(codes.last().unwrap(), "too_many_requests");
    assert_eq!(stage.play(asked("GET", "/__gate/config", ADMIN)).status, 200);
    assert!(stage.is_untouched());
}

#[test]
fn operators_are_bounded_too() {
    let stage = stage();
    let answers = (0..30).map(|_| stage.play(asked("GET", "/__gate/config", ADMIN)).status).collect::<Vec<_>>();
    assert_eq!((answers[19], answers[20]), (200, 429));
}

#[test]
fn the_configuration_is_shown_and_no_secret() {
    let stage = stage();
    let shown = stage.play(asked("GET", "/__gate/config", ADMIN));
    let body = json_of(&shown);
    assert_eq!((body["source"].as_str(), body["refused"].is_null()), (Some("embedded"), true));
    assert_eq!(body["version"].as_str().unwrap().len(), 22);
    assert_eq!(body["limits"][0], json!({"name": "user", "key": ["user"], "burst": 5, "interval_us": 500_000}));
    assert_eq!(body["routes"][1]["path"], "/v1/sales/{sku}/orders");
    let text = String::from_utf8(shown.body.clone()).unwrap();
    assert!([USERS, TOKENS, ASSERTIONS, ADMIN].iter().all(|secret| !text.contains(secret)));
    assert_eq!(shown.get("cache-control"), Some("private, no-store"));
    assert_eq!(uses(&stage).len(), 1, "each use is logged");
}

#[test]
fn a_refused_replacement_is_shown_with_its_faults() {
    let stage = stage().kv(Ok(Some("{\"partitions\":0}")));
    stage.play(asked("GET", "/__gate/config", ADMIN));
    let body = json_of(&stage.play(asked("GET", "/__gate/config", ADMIN)));
    let faults = body["refused"]["faults"].as_array().unwrap();
    assert!(faults[0].as_str().unwrap().starts_with("partitions: "), "{faults:?}");
}

#[test]
fn a_peek_reads_the_subjects_buckets_and_charges_none() {
    let stage = stage().redis_says(
        200,
        &format!("[{TIME},{{\"result\":\"1800000001000500\"}},{{\"result\":null}},{{\"result\":null}}]"),
    );
    let body = json_of(&stage.play(sent("peek", &json!({"user": "42"}))));
    assert_eq!(body["looked_at"], 3);
    let bucket = &body["buckets"][0];
    assert_eq!((bucket["limit"].as_str(), bucket["remaining"].as_u64()), (Some("user"), Some(3)), "{bucket}");
    assert_eq!((bucket["full_in_ms"].as_u64(), bucket["retry_after_ms"].as_u64()), (Some(1_000), Some(0)));
    let asked = stage.asked.borrow()[0].clone();
    let commands: Vec<&str> = asked.as_array().unwrap().iter().map(|c| c[0].as_str().unwrap()).collect();
    assert_eq!(commands, ["TIME", "GET", "GET", "GET"]);
    let line = &uses(&stage)[0];
    assert!(line.contains("\"peek\"") && !line.contains("42\""), "{line}");
}

#[test]
fn the_bucket_that_is_looked_at_is_the_one_that_orders_charge() {
    let limited = "[1,1800000000000,\"\",2500000,0]";
    let stage = stage().redis(limited);
    stage.play(order());
    let (user, ip) = (stage.keys(0)[stage.keys(0).len() - 2].clone(), stage.keys(0).last().unwrap().clone());
    let stage = stage.redis_says(200, "[{\"result\":1},{\"result\":1},{\"result\":0},{\"result\":0},{\"result\":0}]");
    let body = json_of(&stage.play(sent("reset", &json!({"user": "42", "ip": "1.2.3.4"}))));
    let deleted: Vec<String> =
        stage.asked.borrow()[1].as_array().unwrap().iter().map(|c| format!("{} {}", c[0], c[1])).collect();
    assert!(
        deleted.contains(&format!("\"DEL\" \"{user}\"")) && deleted.contains(&format!("\"DEL\" \"{ip}\"")),
        "{deleted:?}"
    );
    assert_eq!((body["deleted"].as_u64(), deleted.len()), (Some(2), 5));
    let line = uses(&stage).pop().unwrap();
    assert!(line.contains("\"reset\"") && !line.contains("1.2.3.4"), "{line}");
    stage.later(1_000);
    let stage =
        stage.redis("[0,1800000001000,\"\",\"\",500000,100000]").origin(202, &[("sluice-completed", "1")], "{}");
    assert_eq!(stage.play(order()).status, 202, "this isolate has forgotten the refusal after `snapshot_ms`");
}

#[test]
fn a_limit_that_is_not_keyed_by_sku_is_reset_in_every_partition() {
    let toml = include_str!("../../gate.toml").replacen("partitions = 1", "partitions = 4", 1);
    let zeroes = ["{\"result\":0}"; 4].join(",");
    let stage = stage().redis_says(200, &format!("[{zeroes}]"));
    let named = json!({"user": "42", "limit": "user"});
    assert_eq!(json_of(&stage.play_with(&toml, sent("reset", &named)))["looked_at"], 4);
    let asked = stage.asked.borrow()[0].clone();
    for p in 0..4 {
        assert!(asked[p][1].as_str().unwrap().starts_with(&format!("sl1:{{p{p}}}:b:user:")), "{asked}");
    }
}

#[test]
fn one_claim_is_given_up_by_the_parts_of_its_key() {
    let stage = stage().redis("[2,1800000000000,1800000030000]");
    stage.play(order());
    let claim = stage.keys(0)[0].clone();
    let stage = stage.redis_says(200, "[{\"result\":1}]");
    let named = json!({"user": "42", "sku": "demo", "route": "order", "order_token": order_token(1, "42", "demo")});
    assert_eq!(json_of(&stage.play(sent("reset", &named)))["deleted"], 1);
    assert_eq!(stage.asked.borrow()[1], json!([["DEL", claim]]));
}

#[test]
fn what_names_nobody_or_nothing_known_is_refused_before_any_network() {
    let stage = stage();
    for named in [
        json!({}),
        json!([]),
        json!({"user": ""}),
        json!({"ip": "1.2.3"}),
        json!({"sku": "a/b", "user": "42"}),
        json!({"user": "42", "limit": "none"}),
        json!({"usr": "42"}),
        json!({"order_token": "x", "user": "42", "sku": "demo"}),
        json!({"order_token": "x", "user": "42", "sku": "demo", "route": "order"}),
    ] {
        let answer = stage.play(sent("reset", &named));
        assert!(matches!(answer.status, 400 | 429), "{named}: {answer:?}");
    }
    assert!(stage.is_untouched());
}

#[test]
fn a_probe_tells_how_redis_and_origin_are_and_leaves_the_breaker_alone() {
    let stage = stage().redis("[\"1800000000\",\"0\"]").origin(200, &[], "ok");
    let body = json_of(&stage.play(asked("GET", "/__gate/probe", ADMIN)));
    assert_eq!((body["redis"]["answers"].as_bool(), body["origin"]["status"].as_u64()), (Some(true), Some(200)));
    assert_eq!(body["breaker"], "closed");
    let stage = (0..5).fold(stage, |stage, _| stage.redis_says(503, "busy"));
    for user in ["1", "2", "3", "4", "5"] {
        stage.play(crate::stage::order_of(user));
    }
    let stage = stage.redis_says(503, "busy").origin_fails(sluice::gate::ports::OriginFault::Timeout);
    let body = json_of(&stage.play(asked("GET", "/__gate/probe", ADMIN)));
    assert_eq!((body["redis"]["answers"].as_bool(), body["breaker"].as_str()), (Some(false), Some("open")));
    assert_eq!(body["origin"]["answers"], false);
}

#[test]
fn methods_and_names_are_told_apart() {
    let stage = stage();
    assert_eq!(stage.play(asked("POST", "/__gate/config", ADMIN)).get("allow"), Some("GET, HEAD"));
    assert_eq!(stage.play(asked("GET", "/__gate/reset", ADMIN)).get("allow"), Some("POST"));
    assert_eq!(code(&stage.play(asked("GET", "/__gate/nothing", ADMIN))), "not_found");
    assert_eq!(code(&stage.play(asked("GET", "/__gate", ADMIN))), "not_found");
}
