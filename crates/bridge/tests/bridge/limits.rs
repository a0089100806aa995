//! Tokens, methods, sizes and headers.

use std::collections::HashSet;

use crate::support::{Bridge, Redis, TOKEN, answer, error_of};

#[tokio::test]
async fn only_the_token_opens_the_bridge() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let post = |query: &str| bridge.http.post(format!("{}/{query}", bridge.url)).body(r#"["SET","k","v"]"#);
    for wrong in [
        post(""),
        post("?_token=wrong"),
        post("").bearer_auth("wrong"),
        post("").bearer_auth(""),
        post("").basic_auth(TOKEN, None::<&str>),
        post(&format!("?_token={TOKEN}")).bearer_auth("wrong"),
    ] {
        let (status, text) = answer(wrong).await;
        assert_eq!(status, 401);
        assert!(error_of(&text).starts_with("WRONGPASS "), "{text}");
    }
    assert_eq!(bridge.command(r#"["DBSIZE"]"#).await, 0);
    assert_eq!(answer(post(&format!("?_token={TOKEN}"))).await, (200, r#"{"result":"OK"}"#.into()));
}

#[tokio::test]
async fn other_methods_are_405() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    for (method, path) in
        [("DELETE", "/get/k"), ("PATCH", "/"), ("OPTIONS", "/"), ("GET", "/pipeline"), ("GET", "/multi-exec")]
    {
        let response = bridge.request(method, path).send().await.unwrap();
        assert_eq!(response.status(), 405, "{method} {path}");
        assert!(response.headers().contains_key("allow"));
        error_of(&response.text().await.unwrap());
    }
}

#[tokio::test]
async fn a_body_over_the_cap_is_413_and_one_at_the_cap_passes() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let cap = 10 * 1024 * 1024;
    let frame = r#"["SET","k",""]"#.len();
    let at_cap = format!(r#"["SET","k","{}"]"#, "x".repeat(cap - frame));
    assert_eq!(at_cap.len(), cap);
    assert_eq!(bridge.post("/", &at_cap).await.0, 200);
    assert_eq!(bridge.command(r#"["STRLEN","k"]"#).await, cap - frame);
    for path in ["/", "/pipeline", "/set/k"] {
        let (status, text) = bridge.post(path, &format!("{at_cap} ")).await;
        assert_eq!(status, 413);
        assert!(error_of(&text).starts_with("ERR max request size"), "{text}");
    }
}

#[tokio::test]
async fn each_reply_has_a_sync_token_of_its_own_and_is_json() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let mut seen = HashSet::new();
    for body in [r#"["PING"]"#, r#"["PING"]"#, r#"["NOSUCH"]"#, "nonsense", r#"["PING"]"#] {
        let response = bridge.request("POST", "/").body(body).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/json");
        assert!(seen.insert(response.headers()["upstash-sync-token"].to_str().unwrap().to_owned()));
    }
}

#[tokio::test]
async fn health_needs_no_token_and_says_how_redis_is() {
    let mut redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["PING"]"#).await;
    let health = || answer(bridge.http.get(format!("{}/healthz", bridge.url)));
    assert_eq!(health().await, (200, r#"{"status":"ok","redis":"up"}"#.into()));
    redis.kill();
    crate::support::until(std::time::Duration::from_secs(2), "health says down", || async {
        health().await == (200, r#"{"status":"ok","redis":"down"}"#.into())
    })
    .await;
}
