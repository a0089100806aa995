//! `/multi-exec`: all or nothing, with nobody else's commands in between.

use serde_json::{Value, json};

use crate::support::{Bridge, Redis, error_of};

#[tokio::test]
async fn runtime_errors_are_items_and_the_rest_is_kept() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let (status, text) = bridge.post("/multi-exec", r#"[["SET","k","v"],["INCR","k"],["INCR","n"],["GET","k"]]"#).await;
    assert_eq!(status, 200);
    assert_eq!(
        text,
        r#"[{"result":"OK"},{"error":"ERR value is not an integer or out of range"},{"result":1},{"result":"v"}]"#
    );
}

#[tokio::test]
async fn an_error_while_queueing_discards_everything() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    for bad in [r#"["NOSUCH"]"#, r#"["GET"]"#, r#"["BLPOP","k",0]"#, r#"["EXEC"]"#, r#"["WATCH","k"]"#] {
        let (status, text) = bridge.post("/multi-exec", &format!(r#"[["SET","k","v"],{bad},["SET","l","v"]]"#)).await;
        assert_eq!(status, 400, "{text}");
        let error = error_of(&text);
        assert!(error.starts_with("EXECABORT Transaction discarded because of: ERR "), "{error}");
    }
    assert_eq!(bridge.command(r#"["DBSIZE"]"#).await, json!(0));
    assert_eq!(bridge.command(r#"["SET","k","outside"]"#).await, json!("OK"));
}

/// Without the permission for MULTI, Redis would run the commands one by one.
#[tokio::test]
async fn a_user_who_may_not_use_multi_gets_an_error_and_no_half() {
    let redis = Redis::start().await;
    let admin = Bridge::before(&redis).await;
    admin.command(r#"["ACL","SETUSER","default","-multi"]"#).await;
    let bridge = Bridge::before(&redis).await;
    let (status, text) = bridge.post("/multi-exec", r#"[["SET","k","v"]]"#).await;
    assert_eq!(status, 400, "{text}");
    assert!(error_of(&text).starts_with("NOPERM "), "{text}");
    assert_eq!(bridge.command(r#"["DBSIZE"]"#).await, json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_concurrent_transfers_keep_the_sum() {
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    for account in 0..4 {
        bridge.command(&format!(r#"["SET","a{account}",1000]"#)).await;
    }
    let transfers = (0..200).map(|i| {
        let bridge = bridge.clone();
        tokio::spawn(async move {
            let (from, to, amount) = (i % 4, (i / 4 + i + 1) % 4, i % 7 + 1);
            let commands = format!(
                r#"[["MGET","a0","a1","a2","a3"],["DECRBY","a{from}",{amount}],["GET","own{i}"],["INCRBY","a{to}",{amount}],
                   ["SET","own{i}","{i}"],["GET","own{i}"],["MGET","a0","a1","a2","a3"]]"#
            );
            let plain = format!(r#"["INCRBY","noise",{i}]"#);
            let (transfer, _) = tokio::join!(bridge.post("/multi-exec", &commands), bridge.command(&plain));
            (i, transfer)
        })
    });
    for transfer in transfers.collect::<Vec<_>>() {
        let (i, (status, text)) = transfer.await.unwrap();
        assert_eq!(status, 200, "{text}");
        let items: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(sum(&items[0]["result"]), 4000, "{text}");
        assert_eq!(sum(&items[6]["result"]), 4000, "{text}");
        assert_eq!(items[5]["result"], json!(i.to_string()));
    }
    assert_eq!(sum(&bridge.command(r#"["MGET","a0","a1","a2","a3"]"#).await), 4000);
    assert_eq!(bridge.command(r#"["GET","noise"]"#).await, json!("19900"));
}

fn sum(values: &Value) -> i64 {
    values.as_array().unwrap().iter().map(|value| value.as_str().unwrap().parse::<i64>().unwrap()).sum()
}
