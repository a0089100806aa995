//! What answers look like: JSON, base64, the Redis protocol.

use serde_json::json;

use crate::support::{Bridge, Redis, error_of};

async fn resp2(bridge: &Bridge, path: &str, body: &str) -> (u16, String, Vec<u8>) {
    let request = bridge.request("POST", path).header("Upstash-Response-Format", "resp2").body(body.to_owned());
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(response.headers().contains_key("upstash-sync-token"));
    (status, kind, response.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn resp2_is_what_redis_said() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["RPUSH","l","a","b"]"#).await;
    for (body, expected) in [
        (r#"["SET","k","v"]"#, &b"+OK\r\n"[..]),
        (r#"["GET","k"]"#, b"$1\r\nv\r\n"),
        (r#"["GET","none"]"#, b"$-1\r\n"),
        (r#"["GEOPOS","none","x"]"#, b"*1\r\n*-1\r\n"),
        (r#"["LRANGE","l",0,-1]"#, b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        (r#"["INCR","n"]"#, b":1\r\n"),
    ] {
        let (status, kind, bytes) = resp2(&bridge, "/", body).await;
        assert_eq!((status, kind.as_str()), (200, "application/octet-stream"));
        assert_eq!(bytes, expected, "{body}");
    }
    let (status, _, bytes) = resp2(&bridge, "/", r#"["INCR","k"]"#).await;
    assert_eq!((status, &bytes[..]), (400, &b"-ERR value is not an integer or out of range\r\n"[..]));
    let (status, _, bytes) = resp2(&bridge, "/", r#"["BLPOP","k",0]"#).await;
    assert!(status == 400 && bytes.starts_with(b"-ERR BLPOP is not") && bytes.ends_with(b"\r\n"));
    for path in ["/pipeline", "/multi-exec"] {
        let (status, _, bytes) = resp2(&bridge, path, r#"[["GET","k"],["INCR","k"],["LLEN","l"]]"#).await;
        let text = "*3\r\n$1\r\nv\r\n-ERR value is not an integer or out of range\r\n:2\r\n";
        assert_eq!((status, String::from_utf8(bytes).unwrap().as_str()), (200, text));
    }
}

#[tokio::test]
async fn two_formats_at_once_and_unknown_ones_are_400() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    for headers in [
        &[("Upstash-Encoding", "base64"), ("Upstash-Response-Format", "resp2")][..],
        &[("Upstash-Response-Format", "resp3")],
        &[("Upstash-Encoding", "hex")],
    ] {
        let mut request = bridge.request("POST", "/").body(r#"["PING"]"#);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (status, text) = crate::support::answer(request).await;
        assert_eq!(status, 400, "{headers:?}");
        error_of(&text);
    }
}

/// Redis puts a client's bytes into its errors, and cuts them off in the middle of a character. That must not
/// disturb anybody, also when it happens in a script's nested reply.
#[tokio::test]
async fn bytes_that_are_no_text_in_an_error_harm_nobody() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let id = bridge.command(r#"["CLIENT","ID"]"#).await;
    let (status, text) = bridge.post("/%ff%fe/x", "").await;
    assert_eq!(status, 400);
    assert!(error_of(&text).contains('\u{fffd}'), "{text}");
    let nested = r#"["EVAL","return {1, {err='ERR \\228'}, redis.status_reply('\\228')}",0]"#;
    assert_eq!(bridge.command(nested).await, json!([1, "ERR \u{fffd}", "\u{fffd}"]));
    assert_eq!(bridge.command(r#"["CLIENT","ID"]"#).await, id);
}

#[tokio::test]
async fn what_scripts_say_in_resp3_arrives_as_resp2() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["HSET","h","f","1"]"#).await;
    let script =
        "redis.setresp(3); local h = redis.call('HGETALL', KEYS[1]); return {h.map.f, {double=3.5}, true, false}";
    let reply = bridge.command(&json!(["EVAL", script, 1, "h"]).to_string()).await;
    assert_eq!(reply, json!(["1", "3.5", 1, 0]));
}
