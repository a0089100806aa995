//! Order tokens: from when on, after which challenge, and with which wait they are issued.

use serde_json::Value;
use sluice::api::response::Response;
use sluice::gate::ports::{AskFault, Body, Request};

use crate::stage::{NOW, Stage, code, request, with};

const URL: &str = "https://challenges.example/siteverify";
const STARTS: u64 = NOW + 100_000;

fn toml(token: &str) -> String {
    include_str!("../../gate.toml").replacen("[token]", &format!("[token]\n{token}"), 1)
}

fn ask() -> Request {
    request("POST", "/v1/sales/demo/token")
}

/// Redis admits and tells of a sale that starts at `STARTS`.
fn coming(at: u64) -> String {
    format!("[0,{at},\"{STARTS},{},0,5,1999\",\"\",500000,100000]", STARTS + 3_600_000)
}

fn body(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    serde_json::from_slice(&response.body).unwrap()
}

#[test]
fn tokens_are_issued_from_the_configured_time_before_the_sale_on() {
    let toml = toml("opens_before_s = 60");
    let stage = Stage::default().redis(&coming(NOW));
    let early = stage.play_with(&toml, ask());
    assert_eq!((early.status, code(&early).as_str()), (403, "sale_not_started"));
    // The opening is 40 s away; Redis' clock is known to two milliseconds.
    assert_eq!(early.get("retry-after"), Some("40"));
    assert!(early.get("ratelimit").is_none() || early.status == 403);
    stage.later(40_000);
    let stage = stage.redis(&coming(NOW + 40_000));
    let token = body(&stage.play_with(&toml, ask()));
    assert_eq!((token["starts_at"].as_u64(), token["expires_at"].as_u64()), (Some(STARTS), Some(STARTS + 600_000)));
}

#[test]
fn a_sale_that_nobody_knows_opens_nothing_and_one_that_is_over_closes_it() {
    let stage = Stage::default().redis("[0,1800000000000,\"-\",\"\",500000,100000]");
    let unknown = stage.play_with(&toml("opens_before_s = 60"), ask());
    assert_eq!((unknown.status, code(&unknown).as_str()), (503, "sale_unavailable"));
    let over = format!("[0,{NOW},\"{},{},0,5,1999\",\"\",500000,100000]", NOW - 2_000, NOW - 1_000);
    let stage = Stage::default().redis(&over);
    assert_eq!(code(&stage.play(ask())), "sale_ended");
}

#[test]
fn the_wait_leads_to_the_start_and_spreads_it_and_is_nothing_afterwards() {
    let toml = toml("jitter_ms = 3000");
    let mut waits = Vec::new();
    let mut stage = Stage::default();
    for n in 0..40 {
        stage.later(n);
        stage = stage.redis(&coming(NOW));
        let token = body(&stage.play_with(&toml, ask()));
        let (now, wait) = (token["now"].as_u64().unwrap(), token["wait_ms"].as_u64().unwrap());
        assert!((NOW - 5..NOW + 1_000).contains(&now), "{token}");
        assert!((STARTS..=STARTS + 3_000).contains(&(now + wait)), "{token}");
        waits.push(now + wait - STARTS);
    }
    assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
    let running = format!("[0,{NOW},\"{},{},0,5,1999\",\"\",500000,100000]", NOW - 2_000, NOW + 1_000_000);
    let stage = Stage::default().redis(&running);
    assert_eq!(body(&stage.play_with(&toml, ask()))["wait_ms"], 0);
}

fn demanding() -> String {
    toml(&format!("challenge_url = \"{URL}\""))
}

fn answered(answer: &str) -> Request {
    with(ask(), "sluice-challenge", answer)
}

#[test]
fn a_challenge_is_judged_after_the_limits_and_its_answer_is_sent_to_the_configured_address_only() {
    let stage = Stage::default().redis(&coming(NOW)).service(200, r#"{"success":true,"hostname":"shop.example"}"#);
    body(&stage.play_with(&demanding(), answered("0.abc")));
    let sent = ["secret=the-shops-secret", "response=0.abc", "remoteip=1.2.3.4"].map(str::to_owned).to_vec();
    assert_eq!(*stage.inquiries.borrow(), [(URL.to_owned(), sent)]);

    let mut in_body = ask();
    in_body.body = Body::Whole(br#"{"challenge":"0.def"}"#.to_vec());
    let stage = stage.redis(&coming(NOW)).service(200, r#"{"success":true}"#);
    body(&stage.play_with(&demanding(), in_body));
    assert_eq!(stage.inquiries.borrow()[1].1[1], "response=0.def");

    let stage = Stage::default().redis("[1,1800000000000,\"\",9000000,0]");
    let limited = stage.play_with(&demanding(), answered("0.abc"));
    assert_eq!((limited.status, stage.inquiries.borrow().len()), (429, 0), "limits protect the service");
}

#[test]
fn without_a_usable_answer_nothing_is_asked() {
    let stage = Stage::default();
    let cases = [
        (ask(), 400, "challenge_required"),
        (answered(""), 400, "challenge_required"),
        (answered("a b"), 403, "challenge_failed"),
        (answered(&"x".repeat(2_049)), 403, "challenge_failed"),
    ];
    for (request, status, expected) in cases {
        let response = stage.play_with(&demanding(), request);
        assert_eq!((response.status, code(&response).as_str()), (status, expected));
    }
    assert!(stage.is_untouched() && stage.inquiries.borrow().is_empty());
}

#[test]
fn what_the_service_says_decides_and_its_absence_is_no_fault_of_the_clients() {
    let failed = r#"{"success":false,"error-codes":["timeout-or-duplicate"]}"#;
    let ours = r#"{"success":false,"error-codes":["invalid-input-secret"]}"#;
    let cases = [
        (200, failed, 403, "challenge_failed"),
        (400, failed, 403, "challenge_failed"),
        (200, r#"{"success":false}"#, 403, "challenge_failed"),
        (200, ours, 503, "challenge_unavailable"),
        (500, r#"{"success":true}"#, 503, "challenge_unavailable"),
        (200, "<html>", 503, "challenge_unavailable"),
        (302, "", 503, "challenge_unavailable"),
    ];
    for (said, text, status, expected) in cases {
        let stage = Stage::default().redis(&coming(NOW)).service(said, text);
        let response = stage.play_with(&demanding(), answered("0.abc"));
        assert_eq!((response.status, code(&response).as_str()), (status, expected), "{text}");
        assert_eq!(response.get("retry-after").is_some(), status == 503);
        assert!(!stage.logged.borrow().iter().any(|line| line.contains("0.abc") || line.contains("the-shops")));
    }
    let stage = Stage::default().redis(&coming(NOW)).service_fails(AskFault::Timeout);
    let away = stage.play_with(&demanding(), answered("0.abc"));
    assert_eq!((away.status, away.get("retry-after")), (503, Some("2")));
}

#[test]
fn no_answer_is_used_up_while_tokens_are_not_yet_issued() {
    let toml = toml(&format!("opens_before_s = 60\nchallenge_url = \"{URL}\""));
    let stage = Stage::default().redis(&coming(NOW));
    assert_eq!(code(&stage.play_with(&toml, answered("0.abc"))), "sale_not_started");
    assert!(stage.inquiries.borrow().is_empty());
}
