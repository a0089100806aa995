//! Commands in the address.

use serde_json::json;

use crate::support::{Bridge, Redis, answer};

#[tokio::test]
async fn a_path_is_a_command() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let ask = |method, path| answer(bridge.request(method, path));
    assert_eq!(ask("GET", "/set/a%2Fb/x%20y+z").await, (200, r#"{"result":"OK"}"#.into()));
    assert_eq!(ask("GET", "/get/a%2Fb").await, (200, r#"{"result":"x y+z"}"#.into()));
    assert_eq!(ask("POST", "/get/a%2Fb").await, (200, r#"{"result":"x y+z"}"#.into()));
    assert_eq!(ask("PUT", "/get/a%2Fb").await, (200, r#"{"result":"x y+z"}"#.into()));
    assert_eq!(ask("GET", "/incr/a%2Fb").await.0, 400);
    assert_eq!(ask("GET", "/").await.0, 400);
}

#[tokio::test]
async fn head_runs_the_command_and_has_no_body() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    assert_eq!(answer(bridge.request("HEAD", "/incr/n")).await, (200, String::new()));
    assert_eq!(bridge.command(r#"["GET","n"]"#).await, json!("1"));
}

#[tokio::test]
async fn a_raw_body_is_the_last_argument_and_the_query_follows() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let body = "{\"a\": [1, 2]}\n";
    let set = bridge.request("POST", "/set/k?EX=100&NX").body(body);
    assert_eq!(answer(set).await, (200, r#"{"result":"OK"}"#.into()));
    assert_eq!(bridge.command(r#"["GET","k"]"#).await, json!(body));
    assert!(bridge.command(r#"["TTL","k"]"#).await.as_i64().unwrap() > 90);
    assert_eq!(answer(bridge.request("GET", "/set/k/other?NX")).await.1, r#"{"result":null}"#);
}

#[tokio::test]
async fn bytes_pass_through_path_and_body() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(answer(bridge.request("POST", "/set/%ff%00").body(all.clone())).await.0, 200);
    let (status, text) = answer(bridge.request("GET", "/get/%ff%00").header("upstash-encoding", "BASE64")).await;
    assert_eq!(status, 200);
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(all);
    assert_eq!(text, format!("{{\"result\":\"{encoded}\"}}"));
}
