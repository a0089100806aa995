//! Results, errors, encodings.

use serde_json::json;

use crate::support::{Bridge, Redis, answer, error_of};

#[tokio::test]
async fn results_have_the_shapes_of_upstash() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    assert_eq!(bridge.post("/", r#"["SET","k","v"]"#).await, (200, r#"{"result":"OK"}"#.into()));
    assert_eq!(bridge.post("/", r#"["get","k"]"#).await, (200, r#"{"result":"v"}"#.into()));
    assert_eq!(bridge.post("/", r#"["GET","none"]"#).await, (200, r#"{"result":null}"#.into()));
    assert_eq!(bridge.post("/", r#"["INCRBY","n",5]"#).await, (200, r#"{"result":5}"#.into()));
    assert_eq!(bridge.command(r#"["HSET","h","a",1,"b",true]"#).await, json!(2));
    assert_eq!(bridge.command(r#"["HGETALL","h"]"#).await, json!(["a", "1", "b", "true"]));
    assert_eq!(bridge.command(r#"["MGET","k","none"]"#).await, json!(["v", null]));
    assert_eq!(bridge.command(r#"["PING"]"#).await, json!("PONG"));
    assert_eq!(bridge.command(r#"["EVAL","return {1,{'a',false},'b'}",0]"#).await, json!([1, ["a", null], "b"]));
}

#[tokio::test]
async fn command_errors_are_400_in_redis_own_words() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["SET","k","v"]"#).await;
    for (body, error) in [
        (r#"["LPUSH","k","x"]"#, "WRONGTYPE Operation against a key holding the wrong kind of value"),
        (r#"["INCR","k"]"#, "ERR value is not an integer or out of range"),
        (r#"["GET"]"#, "ERR wrong number of arguments for 'get' command"),
        (
            r#"["EVALSHA","ffffffffffffffffffffffffffffffffffffffff",0]"#,
            "NOSCRIPT No matching script. Please use EVAL.",
        ),
        (r#"["NOSUCH","a"]"#, "ERR unknown command 'NOSUCH', with args beginning with: 'a' "),
        (r#"["EVAL","return redis.error_reply('MINE  two  spaces')",0]"#, "MINE  two  spaces"),
        (
            r#"["XREADGROUP","GROUP","g","c","STREAMS","s",">"]"#,
            "NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option",
        ),
    ] {
        assert_eq!(bridge.error(body).await, error);
    }
}

#[tokio::test]
async fn what_is_not_a_command_is_400_json() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    for body in
        ["", "{", "{}", "[]", "[[]]", r#"["SET",["k"],"v"]"#, r#"["SET",{},"v"]"#, "null", "[1", "[\"\\ud800\"]"]
    {
        let error = bridge.error(body).await;
        assert!(error.starts_with("ERR "), "{body}: {error}");
    }
    for path in ["/pipeline", "/multi-exec"] {
        for body in ["", "[]", r#"["GET","k"]"#, r#"[["GET","k"],[]]"#, r#"[["SET","k",[1]]]"#] {
            let (status, text) = bridge.post(path, body).await;
            assert_eq!(status, 400, "{path} {body} {text}");
            assert!(error_of(&text).starts_with("ERR "), "{text}");
        }
    }
    assert_eq!(bridge.command(r#"["DBSIZE"]"#).await, json!(0));
}

/// `r_redis_js_37_big_integers_survive`, `r_vercel_storage_445`.
#[tokio::test]
async fn big_integers_are_exact_both_ways() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    bridge.command(r#"["SET","n",9007199254740993]"#).await;
    assert_eq!(bridge.post("/", r#"["GET","n"]"#).await.1, r#"{"result":"9007199254740993"}"#);
    assert_eq!(bridge.post("/", r#"["INCR","n"]"#).await.1, r#"{"result":9007199254740994}"#);
    bridge.command(r#"["SET","n",9223372036854775806]"#).await;
    assert_eq!(bridge.post("/", r#"["INCR","n"]"#).await.1, r#"{"result":9223372036854775807}"#);
    bridge.command(r#"["SET","id",101660004000155481467]"#).await;
    assert_eq!(bridge.post("/", r#"["GET","id"]"#).await.1, r#"{"result":"101660004000155481467"}"#);
}

#[tokio::test]
async fn base64_covers_every_string_but_ok_and_errors() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let encoded = |path, body: &str| {
        answer(bridge.request("POST", path).header("Upstash-Encoding", "base64").body(body.to_owned()))
    };
    assert_eq!(encoded("/", r#"["SET","k","é"]"#).await, (200, r#"{"result":"OK"}"#.into()));
    assert_eq!(encoded("/", r#"["GET","k"]"#).await, (200, r#"{"result":"w6k="}"#.into()));
    assert_eq!(encoded("/", r#"["PING"]"#).await, (200, r#"{"result":"UE9ORw=="}"#.into()));
    assert_eq!(
        encoded("/", r#"["EVAL","return {'a',{'\\255',1},redis.status_reply('OK')}",0]"#).await.1,
        r#"{"result":["YQ==",["/w==",1],"OK"]}"#
    );
    assert_eq!(
        encoded("/pipeline", r#"[["GET","k"],["INCR","k"],["GET","none"]]"#).await.1,
        r#"[{"result":"w6k="},{"error":"ERR value is not an integer or out of range"},{"result":null}]"#
    );
    assert_eq!(encoded("/multi-exec", r#"[["GET","k"],["DEL","k"]]"#).await.1, r#"[{"result":"w6k="},{"result":1}]"#);
    assert_eq!(encoded("/", r#"["GET"]"#).await.0, 400);
    let odd = answer(bridge.request("POST", "/").header("Upstash-Encoding", "gzip").body(r#"["PING"]"#)).await;
    assert_eq!(odd.0, 400);
}

#[tokio::test]
async fn bytes_that_are_no_text_become_replacement_characters() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    assert_eq!(bridge.command(r#"["EVAL","return 'a\\255b'",0]"#).await, json!("a\u{fffd}b"));
}

/// Redis quotes a client's bytes in errors and cuts them anywhere; the `redis` crate takes such a line for a
/// broken connection, which would fail everybody's requests.
#[tokio::test]
async fn an_error_that_is_no_text_harms_nobody() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let slow = {
        let bridge = bridge.clone();
        tokio::spawn(async move {
            for i in 0..200 {
                bridge.command(&format!(r#"["SET","k",{i}]"#)).await;
            }
        })
    };
    for _ in 0..20 {
        let error = bridge.error(&format!(r#"["NOSUCH","{}"]"#, "很".repeat(100))).await;
        assert!(error.starts_with("ERR unknown command 'NOSUCH', with args beginning with: '很很"), "{error}");
        assert!(error.contains('\u{fffd}'), "{error}");
    }
    assert_eq!(bridge.error(r#"["EVAL","return redis.error_reply('E \\255é')",0]"#).await, "E \u{fffd}é");
    assert_eq!(bridge.command(r#"["EVAL","return redis.status_reply('é')",0]"#).await, json!("é"));
    slow.await.unwrap();
}

#[tokio::test]
async fn a_pipeline_answers_item_by_item_and_goes_on_after_an_error() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let (status, text) = bridge
        .post(
            "/pipeline",
            r#"[["SET","k","v"],["LPUSH","k",1],["BLPOP","k",0],["NOSUCH"],["GET","k"],["SUBSCRIBE","c"]]"#,
        )
        .await;
    assert_eq!(status, 200);
    let items: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(items[0], json!({"result": "OK"}));
    assert_eq!(items[1], json!({"error": "WRONGTYPE Operation against a key holding the wrong kind of value"}));
    assert!(items[2]["error"].as_str().unwrap().starts_with("ERR BLPOP is not available"));
    assert!(items[3]["error"].as_str().unwrap().starts_with("ERR unknown command"));
    assert_eq!(items[4], json!({"result": "v"}));
    assert!(items[5]["error"].as_str().unwrap().starts_with("ERR SUBSCRIBE is not available"));
    assert_eq!(items.as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn what_would_harm_the_shared_connection_is_refused() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    for body in [
        r#"["BLPOP","k",0]"#,
        r#"["XREAD","BLOCK",0,"STREAMS","s","$"]"#,
        r#"["WATCH","k"]"#,
        r#"["MULTI"]"#,
        r#"["SELECT",1]"#,
        r#"["CLIENT","REPLY","OFF"]"#,
        r#"["SUBSCRIBE","c"]"#,
        r#"["MONITOR"]"#,
        r#"["QUIT"]"#,
        r#"["SHUTDOWN"]"#,
        r#"["debug","sleep",5]"#,
    ] {
        let error = bridge.error(body).await;
        assert!(error.contains("is not available over REST"), "{error}");
    }
    assert_eq!(bridge.command(r#"["PING"]"#).await, json!("PONG"));
}
