//! The key-locking line and the SHA1 that its author knows.

use std::time::Duration;

use serde_json::{Value, json};
use sha1::{Digest, Sha1};

use crate::support::{Bridge, Redis, until};

const SCRIPT: &str = "#!lua flags=allow-key-locking\nreturn redis.call('INCR', KEYS[1])";
const NOSCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";

fn sha(text: &str) -> String {
    Sha1::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn body(parts: &[&str]) -> String {
    serde_json::to_string(parts).unwrap()
}

#[tokio::test]
async fn a_client_that_falls_back_to_eval_is_known_from_then_on() {
    let mut redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let evalsha = body(&["EVALSHA", &sha(SCRIPT), "1", "n"]);
    assert_eq!(bridge.error(&evalsha).await, NOSCRIPT);
    assert_eq!(bridge.command(&body(&["EVAL", SCRIPT, "1", "n"])).await, json!(1));
    bridge.command(r#"["SCRIPT","FLUSH"]"#).await;
    assert_eq!(bridge.command(&evalsha).await, json!(2));
    let pipeline = format!("[{evalsha},[\"INCR\",\"n\"],{evalsha}]");
    for (round, path) in ["/pipeline", "/multi-exec"].into_iter().enumerate() {
        bridge.command(r#"["SCRIPT","FLUSH"]"#).await;
        let (status, text) = bridge.post(path, &pipeline).await;
        let n = round * 3;
        assert_eq!((status, text), (200, json!([{"result": n + 3}, {"result": n + 4}, {"result": n + 5}]).to_string()));
    }
    redis.kill();
    redis.resume().await;
    until(Duration::from_secs(5), "redis is used again", || async {
        bridge.post("/pipeline", &pipeline).await.0 == 200
    })
    .await;
    assert_eq!(bridge.command(&evalsha).await, json!(12));
}

/// A flush that did not come through the bridge is noticed at the latest by the second batch.
#[tokio::test]
async fn somebody_elses_flush_costs_one_batch_at_most() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let evalsha = body(&["EVALSHA", &sha(SCRIPT), "1", "n"]);
    bridge.command(&body(&["EVAL", SCRIPT, "1", "n"])).await;
    assert_eq!(bridge.post("/pipeline", &format!("[{evalsha}]")).await.1, r#"[{"result":2}]"#);
    redis.cli(&["SCRIPT", "FLUSH"]).await;
    bridge.post("/pipeline", &format!("[{evalsha}]")).await;
    assert_eq!(bridge.post("/pipeline", &format!("[{evalsha}]")).await.1, r#"[{"result":3}]"#);
    redis.cli(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(bridge.command(&evalsha).await, json!(4));
}

#[tokio::test]
async fn load_and_exists_speak_of_the_original_sha() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let original = sha(SCRIPT);
    let exists = body(&["SCRIPT", "EXISTS", &original, &sha("other")]);
    assert_eq!(bridge.command(&exists).await, json!([0, 0]));
    assert_eq!(bridge.command(&body(&["SCRIPT", "LOAD", SCRIPT])).await, json!(original));
    assert_eq!(bridge.command(&exists).await, json!([1, 0]));
    assert_eq!(bridge.command(&body(&["EVALSHA", &original.to_uppercase(), "1", "n"])).await, json!(1));
    let plain = "return 7";
    assert_eq!(bridge.command(&body(&["SCRIPT", "LOAD", plain])).await, json!(sha(plain)));
    assert_eq!(bridge.command(&body(&["EVALSHA_RO", &sha(plain), "0"])).await, json!(7));
}

#[tokio::test]
async fn the_line_is_understood_inside_pipelines_and_transactions() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let original = sha(SCRIPT);
    for (first, path) in [(json!({"error": NOSCRIPT}), "/pipeline"), (json!({"result": 3}), "/multi-exec")] {
        let n = first["result"].as_i64().unwrap_or_default();
        bridge.command(r#"["SCRIPT","FLUSH"]"#).await;
        let commands = json!([
            ["EVALSHA", original, 1, "n"],
            ["EVAL", SCRIPT, 1, "n"],
            ["EVALSHA", original, 1, "n"],
            ["SCRIPT", "LOAD", SCRIPT],
            ["SCRIPT", "EXISTS", original],
        ]);
        let (status, text) = bridge.post(path, &commands.to_string()).await;
        assert_eq!(status, 200, "{text}");
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!([
                first, {"result": n + 1}, {"result": n + 2}, {"result": original}, {"result": [1]},
            ])
        );
    }
}

#[tokio::test]
async fn other_flags_keep_their_meaning_and_lines_their_numbers() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let reads = "#!lua flags=no-writes,allow-key-locking\nreturn redis.call('SET', KEYS[1], 1)";
    let error = bridge.error(&body(&["EVAL", reads, "1", "n"])).await;
    assert!(error.contains("Write commands are not allowed from read-only scripts"), "{error}");
    let fails = "#!lua flags=allow-key-locking\n\nerror('here')";
    let error = bridge.error(&body(&["EVAL", fails, "0"])).await;
    assert!(error.contains("user_script:3: here") && error.contains(&sha(fails)), "{error}");
    let unknown = "#!lua flags=allow-key-locking,no-such-flag\nreturn 1";
    let error = bridge.error(&body(&["EVAL", unknown, "0"])).await;
    assert_eq!(error, "ERR Unexpected flag in script shebang: no-such-flag");
}
