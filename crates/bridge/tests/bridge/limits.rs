//! Tokens, methods, sizes and headers.

use std::collections::HashSet;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Bridge, Redis, TOKEN, answer, error_of, timed, until};

const LIMIT: Duration = Duration::from_secs(10);

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

#[tokio::test]
async fn a_pipeline_over_the_cap_is_400_and_one_at_the_cap_passes() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| config.commands_limit = 3).await;
    let of = |count: usize| format!("[{}]", vec![r#"["INCR","n"]"#; count].join(","));
    for path in ["/pipeline", "/multi-exec"] {
        assert_eq!(bridge.post(path, &of(3)).await.0, 200);
        let (status, text) = bridge.post(path, &of(4)).await;
        assert_eq!((status, error_of(&text).as_str()), (400, "ERR max pipeline size exceeded. Limit: 3 commands"));
    }
    assert_eq!(bridge.command(r#"["GET","n"]"#).await, "6");
}

#[tokio::test]
async fn overload_is_503_at_once_with_retry_after() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| {
        config.requests_limit = 2;
        config.command_timeout = Duration::from_secs(30);
    })
    .await;
    bridge.command(r#"["PING"]"#).await;
    redis.signal(Signal::SIGSTOP);
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let bridge = bridge.clone();
            tokio::spawn(async move { bridge.post("/", r#"["PING"]"#).await.0 })
        })
        .collect();
    until(LIMIT, "both wait", || async {
        let metrics = bridge.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
        metrics.contains("sluice_bridge_waiting 2")
    })
    .await;
    let (took, response) = timed(bridge.request("POST", "/").body(r#"["PING"]"#).send()).await;
    let response = response.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    assert!(took < Duration::from_secs(5), "{took:?}");
    error_of(&response.text().await.unwrap());
    redis.signal(Signal::SIGCONT);
    for request in waiting {
        assert_eq!(request.await.unwrap(), 200);
    }
    assert_eq!(bridge.post("/", r#"["PING"]"#).await.0, 200);
}

async fn connect(bridge: &Bridge) -> TcpStream {
    TcpStream::connect(bridge.url.trim_start_matches("http://")).await.unwrap()
}

/// What a client gets that sends this and then nothing more, until it is hung up on.
async fn until_hung_up(mut socket: TcpStream, bytes: &[u8]) -> String {
    socket.write_all(bytes).await.unwrap();
    let mut all = Vec::new();
    // A reset is an end as well.
    let _ = timeout(LIMIT, socket.read_to_end(&mut all)).await.expect("the connection is closed");
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn slow_and_half_open_clients_are_hung_up_on_and_hold_nobody_up() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| {
        config.header_timeout = Duration::from_millis(700);
        config.body_timeout = Duration::from_millis(700);
        // A client that is slow to send takes up no room.
        config.requests_limit = 1;
    })
    .await;
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\n[");
    let mut slow = Vec::new();
    for bytes in [&b""[..], b"POST / HT", b"POST / HTTP/1.1\r\nHost: x\r\nX: ", head.as_bytes()] {
        for _ in 0..50 {
            slow.push(tokio::spawn(until_hung_up(connect(&bridge).await, &bytes.to_vec().leak()[..])));
        }
    }
    for turn in 0..50 {
        assert_eq!(bridge.command(&format!(r#"["ECHO","{turn}"]"#)).await, turn.to_string());
    }
    for (index, client) in slow.into_iter().enumerate() {
        let text = client.await.unwrap();
        assert!(index < 150 || text.starts_with("HTTP/1.1 408 "), "{index}: {text}");
    }
    let metrics = bridge.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("sluice_bridge_connections 1"), "{metrics}");
}

#[tokio::test]
async fn more_clients_than_there_may_be_get_503_and_the_others_go_on() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| config.connections_limit = 3).await;
    bridge.command(r#"["PING"]"#).await;
    let held = [connect(&bridge).await, connect(&bridge).await];
    let text = until_hung_up(connect(&bridge).await, b"GET /get/k HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(text.starts_with("HTTP/1.1 503 ") && text.to_lowercase().contains("retry-after: 1"), "{text}");
    assert_eq!(bridge.command(r#"["PING"]"#).await, "PONG");
    drop(held);
    until(LIMIT, "there is room again", || async {
        until_hung_up(connect(&bridge).await, b"GET /healthz HTTP/1.0\r\n\r\n").await.starts_with("HTTP/1.0 200")
    })
    .await;
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_nobody_up_and_is_hung_up_on() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| {
        config.requests_limit = 1;
        config.body_timeout = Duration::from_secs(1);
    })
    .await;
    bridge.command(&format!(r#"["SET","big","{}"]"#, "x".repeat(4 << 20))).await;
    let request = format!("GET /get/big HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    let mut deaf = Vec::new();
    for _ in 0..10 {
        let mut socket = connect(&bridge).await;
        socket.write_all(request.as_bytes()).await.unwrap();
        deaf.push(socket);
    }
    until(LIMIT, "others are answered", || async { bridge.post("/", r#"["PING"]"#).await.0 == 200 }).await;
    for turn in 0..20 {
        let (status, text) = bridge.post("/", &format!(r#"["ECHO","{turn}"]"#)).await;
        assert!(status == 503 || text.contains(&turn.to_string()), "{status} {text}");
    }
    until(LIMIT, "only we are left", || async {
        let metrics = bridge.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
        metrics.contains("sluice_bridge_connections 1")
    })
    .await;
    drop(deaf);
}

#[tokio::test]
async fn http_2_works_without_tls() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let http = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let request = http.post(&bridge.url).bearer_auth(TOKEN).body(r#"["PING"]"#);
    let response = request.send().await.unwrap();
    assert_eq!((response.version(), response.status().as_u16()), (reqwest::Version::HTTP_2, 200));
}

#[tokio::test]
async fn metrics_want_a_token_and_name_no_keys() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["SET","private-key","private-value"]"#).await;
    bridge.post("/pipeline", r#"[["PING"],["NOSUCH"]]"#).await;
    assert_eq!(answer(bridge.http.get(format!("{}/metrics", bridge.url))).await.0, 401);
    let (status, text) = answer(bridge.request("GET", "/metrics")).await;
    assert_eq!(status, 200);
    for line in [
        r#"sluice_bridge_requests_total{form="single",status="200"} 1"#,
        r#"sluice_bridge_requests_total{form="pipeline",status="200"} 1"#,
        "sluice_bridge_commands_total 3",
        r#"sluice_bridge_redis_up{database="default"} 1"#,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("private"), "{text}");
}
