//! Order tokens that are missing, forged, borrowed or over never reach Redis.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice::model::{Millis, Sku, User};
use sluice::token::OrderTokens;
use xtask::clock;

use crate::scene::Scene;

#[tokio::test]
async fn a_forged_or_malformed_token_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    let good = edge.token("42", "demo");
    let bytes = URL_SAFE_NO_PAD.decode(&good).unwrap();
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        URL_SAFE_NO_PAD.encode(bytes)
    };
    let secrets = scene.stack.secrets();
    let foreign = OrderTokens::new(&secrets.user_jwt).unwrap();
    let (user, sku) = (User::parse("42").unwrap(), Sku::parse("demo").unwrap());
    let tokens = [
        foreign.issue([7; 16], &user, &sku, Millis(clock::unix_ms() + 600_000)),
        changed(0),
        changed(1),
        changed(20),
        changed(88),
        format!("{good}="),
        format!("{good}A"),
        format!("{good}, {good}"),
        good[..good.len() - 1].to_owned(),
        good.to_uppercase(),
        "x".to_owned(),
        "*".repeat(good.len()),
        "A".repeat(good.len()),
        "A".repeat(4_000),
        edge.jwt("42"),
    ];
    for token in &tokens {
        edge.order("42", "demo", token).send().await.is_refused(403, "token_invalid", token);
    }
    let stray = [&good[..good.len() - 1], if good.ends_with('A') { "B" } else { "A" }].concat();
    edge.order("42", "demo", &stray).send().await.is_refused(403, "token_invalid", "another last character");
    edge.order("42", "demo", "").send().await.is_refused(403, "token_invalid", "an empty token");
    let missing = edge.order("42", "demo", &good).without("sluice-order-token");
    missing.send().await.is_refused(400, "token_missing", "no token");
    scene.is_untouched("forged");
}

#[tokio::test]
async fn a_borrowed_token_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    let token = edge.token("42", "demo");
    edge.order("43", "demo", &token).send().await.is_refused(403, "token_not_yours", "another user");
    edge.order("42", "other", &token).send().await.is_refused(403, "token_not_yours", "another sale");
    edge.order("43", "other", &token).send().await.is_refused(403, "token_not_yours", "another user and sale");
    edge.order("4", "2demo", &token).send().await.is_refused(403, "token_not_yours", "the same letters");
    scene.is_untouched("borrowed");
}

#[tokio::test]
async fn an_expired_token_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    for ends in [0, 1, clock::unix_ms() - 1] {
        let token = edge.token_until("42", "demo", ends);
        edge.order("42", "demo", &token).send().await.is_refused(403, "token_expired", &ends.to_string());
    }
    scene.is_untouched("expired");
}

#[tokio::test]
async fn an_issued_token_holds_for_its_user_and_sale_and_writes_no_more_than_its_buckets() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    let before = clock::unix_ms();
    let answer = edge.issue("42", "demo").send().await;
    answer.is(200);
    let body = answer.json();
    let ends = body["expires_at"].as_u64().unwrap();
    assert!((before + 590_000..before + 620_000).contains(&ends), "{ends}");
    assert_eq!(answer.header("cache-control"), Some("private, no-store"));
    assert!(scene.origin.seen().is_empty(), "the origin is not asked");
    let keyspace = crate::mode::keyspace();
    let buckets = format!("sl1:{{p{}}}:b:", keyspace.partition_of(&Sku::parse("demo").unwrap()).0);
    let keys = crate::scene::contents(&mut scene.redis());
    assert!(keys.keys().all(|key| key.starts_with(&buckets)), "{:?}", keys.keys());

    let token = body["token"].as_str().unwrap();
    edge.order("43", "demo", token).send().await.is_refused(403, "token_not_yours", "another user");
    edge.order("42", "demo", token).send().await.is(202);
    let again = edge.issue("42", "demo").send().await.json();
    assert_ne!(again["token"], body["token"], "each is another");
}
