//! SUBSCRIBE, PSUBSCRIBE and MONITOR as server-sent events.

use std::time::Duration;

use serde_json::json;

use crate::support::{Bridge, Redis, until};

const LIMIT: Duration = Duration::from_secs(10);

/// An open stream and what of it has not been looked at.
struct Events {
    response: reqwest::Response,
    text: String,
}

impl Events {
    async fn open(bridge: &Bridge, method: &str, path: &str) -> Self {
        let request = bridge.request(method, path).header("Accept", "text/event-stream");
        let request = if method == "POST" { request.body("[]") } else { request };
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    async fn next(&mut self) -> String {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.to_owned();
                self.text = rest.to_owned();
                return event;
            }
            let chunk = tokio::time::timeout(LIMIT, self.response.chunk()).await.expect("an event in time");
            self.text.push_str(str::from_utf8(&chunk.unwrap().expect("the stream goes on")).unwrap());
        }
    }
}

async fn connections(redis: &Redis) -> usize {
    match redis.cli(&["CLIENT", "LIST"]).await {
        redis::Value::BulkString(text) => String::from_utf8(text).unwrap().lines().count(),
        redis::Value::VerbatimString { text, .. } => text.lines().count(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn messages_arrive_and_nothing_is_left_when_the_client_goes_away() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["PING"]"#).await;
    let before = connections(&redis).await;
    let mut channel = Events::open(&bridge, "POST", "/subscribe/news/more").await;
    let mut pattern = Events::open(&bridge, "GET", "/psubscribe/ne*").await;
    assert_eq!(channel.next().await, "data: subscribe,news,1");
    assert_eq!(channel.next().await, "data: subscribe,more,2");
    assert_eq!(pattern.next().await, "data: psubscribe,ne*,1");
    assert_eq!(bridge.command(r#"["PUBLISH","news","{\"a\": [1,2]}"]"#).await, json!(2));
    assert_eq!(channel.next().await, r#"data: message,news,{"a": [1,2]}"#);
    assert_eq!(pattern.next().await, r#"data: pmessage,ne*,news,{"a": [1,2]}"#);
    assert_eq!(connections(&redis).await, before + 2);
    drop((channel, pattern));
    until(LIMIT, "the connections are closed", || async { connections(&redis).await == before }).await;
    assert_eq!(bridge.command(r#"["PUBLISH","news","m"]"#).await, json!(0));
}

#[tokio::test]
async fn monitor_shows_commands() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let mut monitor = Events::open(&bridge, "POST", "/monitor").await;
    assert_eq!(monitor.next().await, "data: OK");
    bridge.command(r#"["SET","watched","v"]"#).await;
    loop {
        let event = monitor.next().await;
        if event.contains("\"watched\"") {
            assert!(event.starts_with("data: ") && event.ends_with(r#""SET" "watched" "v""#), "{event}");
            break;
        }
    }
}

#[tokio::test]
async fn streams_in_a_body_are_refused_and_mistakes_are_400() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    assert!(bridge.error(r#"["SUBSCRIBE","c"]"#).await.contains("ask for it in the address"));
    let (status, text) = bridge.post("/subscribe", "").await;
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("wrong number of arguments"), "{text}");
    assert_eq!(bridge.http.get(format!("{}/subscribe/c", bridge.url)).send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_stream_ends_with_redis_and_is_counted() {
    let mut redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let mut events = Events::open(&bridge, "GET", "/subscribe/c").await;
    events.next().await;
    let metrics = bridge.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("sluice_bridge_streams 1"), "{metrics}");
    redis.kill();
    let end = tokio::time::timeout(LIMIT, events.response.chunk()).await.expect("an end in time");
    assert!(matches!(end, Ok(None)), "{end:?}");
}

#[tokio::test]
async fn more_streams_than_there_may_be_get_503() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| config.streams_limit = 1).await;
    let first = Events::open(&bridge, "GET", "/subscribe/c").await;
    let (status, text) = crate::support::answer(bridge.request("GET", "/subscribe/c")).await;
    assert_eq!(status, 503, "{text}");
    drop(first);
    until(LIMIT, "there is room again", || async {
        bridge.request("GET", "/subscribe/c").send().await.unwrap().status() == 200
    })
    .await;
}
