//! Order tokens that are stored: written by the call that admits their issue, consumed by the one that claims.

use serde_json::Value;

use crate::stage::{NOW, Stage, code, order, order_token, request, with};

const DONE: &[(&str, &str)] = &[("sluice-completed", "1"), ("sluice-outcome", "final")];

fn stored() -> String {
    include_str!("../../gate.toml").replace("lifetime_s = 600", "lifetime_s = 600\nkind = \"stored\"")
}

fn issue(stage: &Stage) -> (String, u64) {
    let response = stage.play_with(&stored(), request("POST", "/v1/sales/demo/token"));
    assert_eq!(response.status, 200);
    let body: Value = serde_json::from_slice(&response.body).unwrap();
    (body["token"].as_str().unwrap().to_owned(), body["expires_at"].as_u64().unwrap())
}

#[test]
fn a_stored_token_is_written_and_consumed_by_calls_that_are_made_anyway() {
    let stage = Stage::default().redis("[0,1800000000000,\"-\",\"\",0,0]");
    let (token, expires) = issue(&stage);
    assert_eq!(expires, NOW + 600_000);
    assert_eq!(stage.args(0)[10], 610_000, "no clock takes it away early");
    let key = stage.keys(0)[0].clone();
    assert!(key.starts_with("sl1:{p0}:token:") && !key.contains(&token), "{key}");

    let stage = stage.redis("[0,1800000000000,\"\",\"\",0,0]").origin(202, DONE, "{}");
    let bought = stage.play_with(&stored(), with(order(), "sluice-order-token", &token));
    assert_eq!(bought.status, 202);
    assert_eq!((&stage.keys(1)[1], stage.args(1)[10].as_u64()), (&key, Some(expires)), "after the claim");
    assert_eq!(stage.commands(), ["EVALSHA", "EVALSHA"]);
}

#[test]
fn a_stored_token_lives_from_the_start_of_the_sale_on_whoever_has_read_that() {
    let starts = NOW + 3_600_000;
    let sale = format!("\"{starts},{},0,5,1\"", starts + 1);
    let stage = Stage::default().redis(&format!("[0,{NOW},{sale},\"\",0,0]"));
    assert_eq!(issue(&stage).1, starts + 600_000);
    assert_eq!((stage.args(0)[8].as_u64(), stage.args(0)[10].as_u64()), (Some(2), Some(610_000)), "the script adds it");
    let stage = stage.redis(&format!("[0,{NOW},\"\",\"\",0,0]"));
    assert_eq!(issue(&stage).1, starts + 600_000);
    assert_eq!((stage.args(1)[8].as_u64(), stage.args(1)[10].as_u64()), (Some(0), Some(3_600_000 + 610_000)));
}

#[test]
fn a_token_that_is_used_up_is_told_so() {
    let stage = Stage::default().redis("[10,1800000000000]");
    let used = stage.play_with(&stored(), order());
    assert_eq!((used.status, code(&used).as_str(), used.get("retry-after")), (409, "token_used", None));
    assert!(stage.forwarded.borrow().is_empty());
    let stage = stage.redis("[0,1800000000000,\"\",\"\",0,0]").origin(202, DONE, "{}");
    let next = with(order(), "sluice-order-token", &order_token(2, "42", "demo"));
    assert_eq!(stage.play_with(&stored(), next).status, 202, "a second purchase with a new token is not in the way");
}

#[test]
fn signed_tokens_touch_no_key() {
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",0,0]");
    stage.play(request("POST", "/v1/sales/demo/token"));
    assert!(stage.args(0)[10] == 0 && stage.keys(0).iter().all(|key| !key.contains(":token:")));
}
