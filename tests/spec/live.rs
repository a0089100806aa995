//! A configuration that is replaced while the isolate runs.

use sluice::config::Gate;
use sluice::gate::ports::DocumentAway;

use crate::stage::{Stage, code, order, order_of, request, with};

const TOML: &str = include_str!("../../gate.toml");
const ADMITTED: &str = "[0,1800000000000,\"\",\"\",500000,100000]";
const DONE: &[(&str, &str)] = &[("sluice-completed", "1"), ("sluice-outcome", "final")];

/// This repository's document with one passage changed.
fn changed(from: &str, to: &str) -> String {
    assert!(TOML.contains(from), "{from}");
    Gate::to_json(&TOML.replacen(from, to, 1)).unwrap()
}

fn raised() -> String {
    changed("burst = 5\nrate = \"2/s\"", "burst = 50\nrate = \"20/s\"")
}

/// A request that no route has: it costs nothing, and lets the isolate look.
fn look(stage: &Stage) {
    assert_eq!(code(&stage.play(request("GET", "/nothing"))), "not_found");
}

fn told(stage: &Stage) -> Vec<String> {
    stage.faults().into_iter().filter(|line| line.contains("\"configuration\"")).collect()
}

/// Interval and burst of the user's bucket in the last call.
fn user_limit(stage: &Stage) -> (u64, u64) {
    let args = stage.args(stage.commands().len() - 1);
    (args[13].as_u64().unwrap(), args[14].as_u64().unwrap())
}

#[test]
fn a_replacement_is_in_force_for_the_requests_after_it_was_found() {
    let stage = Stage::default().kv(Ok(Some(&raised())));
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}").redis(ADMITTED).origin(202, DONE, "{}");
    assert_eq!(stage.play(order_of("1")).status, 202);
    assert_eq!(user_limit(&stage), (500_000, 5), "no request waits for it");
    assert_eq!(stage.play(order_of("2")).status, 202);
    assert_eq!(user_limit(&stage), (50_000, 50));
    assert_eq!(told(&stage).len(), 1);
    assert!(told(&stage)[0].contains("\"source\":\"live\""));
}

#[test]
fn without_a_place_for_it_nobody_looks_and_with_one_at_most_every_ten_seconds() {
    let stage = Stage::default();
    look(&stage);
    assert_eq!(stage.looks.get(), 0);
    let stage = Stage::default().kv(Ok(None));
    for _ in 0..100 {
        look(&stage);
    }
    assert_eq!(stage.looks.get(), 1);
    stage.later(9_999);
    look(&stage);
    assert_eq!(stage.looks.get(), 1);
    stage.later(1);
    look(&stage);
    assert_eq!((stage.looks.get(), told(&stage).len()), (2, 0));
}

#[test]
fn a_faulty_replacement_is_told_once_and_the_last_good_one_stays() {
    let faulty = raised().replace("\"20/s\"", "\"0/s\"");
    let stage = Stage::default().kv(Ok(Some(&raised())));
    look(&stage);
    for _ in 0..3 {
        stage.later(10_000);
        stage.kv_changes(Ok(Some(&faulty)));
        look(&stage);
    }
    let lines = told(&stage);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains("refused") && lines[1].contains("limit.0.rate"), "{}", lines[1]);
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}");
    stage.play(order());
    assert_eq!(user_limit(&stage), (50_000, 50));
}

#[test]
fn what_lies_in_redis_and_who_vouches_for_users_cannot_be_replaced() {
    for (from, to, key) in [
        ("prefix = \"sl1\"", "prefix = \"sl2\"", "prefix"),
        ("partitions = 1", "partitions = 2", "partitions"),
        ("issuer = \"https://shop.example\"", "issuer = \"https://evil.example\"", "identity"),
    ] {
        let stage = Stage::default().kv(Ok(Some(&changed(from, to))));
        look(&stage);
        assert!(told(&stage)[0].contains(&format!("{key}: ")), "{:?}", told(&stage));
    }
}

#[test]
fn what_is_no_document_is_refused_whatever_it_is() {
    let large = format!("{{\"prefix\":\"{}\"}}", "x".repeat(300_000));
    for text in ["", "null", "[]", "{", "\u{0}", "{\"prefix\":1}", TOML, &large] {
        let stage = Stage::default().kv(Ok(Some(text)));
        look(&stage);
        assert!(told(&stage)[0].contains("refused") && told(&stage)[0].len() < 10_000, "{:?}", told(&stage));
    }
}

#[test]
fn a_place_that_cannot_be_read_changes_nothing_and_an_empty_one_means_the_embedded_document() {
    let stage = Stage::default().kv(Ok(Some(&raised())));
    look(&stage);
    stage.later(10_000);
    stage.kv_changes(Err(DocumentAway));
    look(&stage);
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}");
    stage.play(order_of("1"));
    assert_eq!(user_limit(&stage), (50_000, 50));
    stage.later(10_000);
    stage.kv_changes(Ok(None));
    look(&stage);
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}");
    stage.play(order_of("2"));
    assert_eq!(user_limit(&stage), (500_000, 5));
    assert!(told(&stage)[2].contains("\"source\":\"embedded\""), "{:?}", told(&stage));
}

#[test]
fn r_envoyproxy_ratelimit_1077_a_raised_limit_works_at_once_and_the_others_are_still_known() {
    let limited = |level: u64| format!("[1,1800000000000,\"\",{level},0]");
    let token = || with(request("POST", "/v1/sales/demo/token"), "cf-connecting-ip", "9.9.9.9");
    let stage = Stage::default().kv(Ok(None)).redis(&limited(2_500_000)).redis(&limited(5_000_000));
    look(&stage);
    stage.later(9_500);
    assert_eq!((stage.play(order()).status, stage.play(token()).status), (429, 429));
    assert_eq!((stage.play(order()).status, stage.play(token()).status), (429, 429));
    assert_eq!(stage.commands().len(), 2, "both are known");
    stage.later(500);
    stage.kv_changes(Ok(Some(&raised())));
    look(&stage);
    assert_eq!((stage.play(token()).status, stage.commands().len()), (429, 2), "what has not changed is known");
    let stage = stage.redis(ADMITTED).origin(202, DONE, "{}");
    assert_eq!(stage.play(order()).status, 202);
}

#[test]
fn the_breaker_and_the_answers_survive_a_replacement() {
    let stage = Stage::default().kv(Ok(None)).redis(ADMITTED).origin(202, DONE, "{\"order_id\":\"1\"}");
    assert_eq!(stage.play(order_of("1")).status, 202);
    let stage = (0..5).fold(stage, |stage, _| stage.redis_says(503, "busy"));
    stage.later(9_500);
    for user in ["2", "3", "4", "5", "6"] {
        assert_eq!(code(&stage.play(order_of(user))), "degraded");
    }
    stage.later(500);
    stage.kv_changes(Ok(Some(&raised())));
    look(&stage);
    assert_eq!(code(&stage.play(order_of("7"))), "degraded");
    assert_eq!(stage.commands().len(), 6, "still open");
}

#[test]
fn larger_bodies_are_read_when_a_replacement_allows_them() {
    let larger = changed("body = \"order\"", "body = \"order\"\nbody_limit = 100000");
    let stage = Stage::default().kv(Ok(Some(&larger)));
    look(&stage);
    assert_eq!(stage.reads_with("", "POST", "/v1/sales/demo/orders"), Some(100_000));
}
