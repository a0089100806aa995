//! The operators' API.

use serde_json::{Value, json};
use sluice_origin::config::Tokens;

use crate::support::client::Order;
use crate::support::shop::Running;
use crate::support::{Shop, until};

const TOKEN: &str = "operator-token-0123456789abcdef01";

async fn guarded(shop: &Shop) -> Running {
    let mut config = shop.config();
    config.admin_tokens = Some(Tokens::parse(TOKEN).unwrap());
    shop.origin_with(config).await
}

/// Status and JSON of an operator's request.
async fn ask(origin: &Running, method: &str, path: &str, body: Value) -> (u16, Value) {
    ask_as(origin, method, path, body, Some(TOKEN)).await
}

async fn ask_as(origin: &Running, method: &str, path: &str, body: Value, token: Option<&str>) -> (u16, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = reqwest::Client::new().request(method, format!("{}{path}", origin.admin.base));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if !body.is_null() {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn nobody_without_the_token_sees_or_changes_anything() {
    let shop = Shop::selling(5).await;
    let origin = guarded(&shop).await;
    for token in [None, Some("wrong"), Some(&TOKEN[1..]), Some("operator-token-0123456789abcdef02")] {
        for (method, path) in [
            ("GET", "/metrics"),
            ("GET", "/admin/sales"),
            ("POST", "/admin/sales/demo/pause"),
            ("POST", "/admin/recover"),
        ] {
            let (status, body) = ask_as(&origin, method, path, Value::Null, token).await;
            assert_eq!((status, body["error"].is_string()), (401, true), "{path} {token:?}");
        }
    }
    assert_eq!(ask_as(&origin, "GET", "/healthz", Value::Null, None).await.0, 200);
    assert_eq!(ask(&origin, "GET", "/metrics", Value::Null).await.0, 200);
    // Not by the public listener, whoever asks.
    let public = reqwest::Client::new().get(format!("{}/admin/sales", origin.client.base)).bearer_auth(TOKEN);
    assert_eq!(public.send().await.unwrap().status().as_u16(), 404);
    origin.client.place(&Order::by("1")).await.order_id();
    // Without a token in the settings there is no API at all.
    let open = shop.origin().await;
    assert_eq!(ask(&open, "GET", "/admin/sales", Value::Null).await.0, 404);
    assert_eq!(ask_as(&open, "GET", "/metrics", Value::Null, None).await.0, 200);
}

#[tokio::test]
async fn a_sale_lives_its_whole_life_by_the_api() {
    let shop = Shop::new().await;
    let origin = guarded(&shop).await;
    let new = json!({"sku": "demo", "title": "Demo", "price": 1999, "stock": 5, "pay_within_ms": 60_000});
    let (status, made) = ask(&origin, "POST", "/admin/sales", new.clone()).await;
    assert_eq!((status, made["state"].as_str(), made["redis_stock"].as_i64()), (200, Some("open"), Some(5)), "{made}");
    let (status, again) = ask(&origin, "POST", "/admin/sales", new).await;
    assert_eq!((status, again["error"].as_str().unwrap().contains("already")), (409, true));
    assert_eq!(ask(&origin, "GET", "/admin/sales", Value::Null).await, (200, json!([made])));

    let id = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    let (status, order) = ask(&origin, "GET", &format!("/admin/orders/{id}"), Value::Null).await;
    assert_eq!((status, order["status"].as_str(), order["sku"].as_str()), (200, Some("pending_payment"), Some("demo")));

    assert_eq!(ask(&origin, "POST", "/admin/sales/demo/pause", Value::Null).await.1["state"], "paused");
    assert_eq!(origin.client.place(&Order::by("2")).await.code(), "sale_paused");
    assert_eq!(ask(&origin, "POST", "/admin/sales/demo/resume", Value::Null).await.1["state"], "open");
    let (_, more) = ask(&origin, "POST", "/admin/sales/demo/restock", json!({"units": 2, "remark": "box"})).await;
    assert_eq!((more["initial"].as_i64(), more["redis_stock"].as_i64()), (Some(7), Some(6)));
    let (_, dear) = ask(&origin, "POST", "/admin/sales/demo/reschedule", json!({"price": 2500})).await;
    assert_eq!(dear["price"], 2500);
    shop.quiet().await;
    shop.redis.ask::<()>("INCRBY sl1:{p0}:stock:demo 4").await;
    let (status, books) = ask(&origin, "GET", "/admin/reconcile", Value::Null).await;
    assert_eq!((status, books["agrees"].as_bool()), (200, Some(false)), "{books}");
    assert_eq!(ask(&origin, "POST", "/admin/sales/demo/repair", Value::Null).await.1["redis_stock"], 6);
    assert_eq!(ask(&origin, "GET", "/admin/reconcile", Value::Null).await.1["agrees"], true);
    assert_eq!(ask(&origin, "GET", "/admin/ledger?sku=demo", Value::Null).await.1["whole"], true);
    assert_eq!(ask(&origin, "GET", "/admin/dead-letters?all=true", Value::Null).await, (200, json!([])));

    shop.redis.ask::<()>("FLUSHALL").await;
    let (status, recovered) = ask(&origin, "POST", "/admin/recover", Value::Null).await;
    assert_eq!((status, recovered["sales"][0]["stock"].as_i64()), (200, Some(6)), "{recovered}");
    until("it is ready", || async { origin.client.get("/readyz").await.status == 200 }).await;
    origin.client.place(&Order::by("2")).await.order_id();
    assert_eq!(ask(&origin, "POST", "/admin/sales/demo/close", Value::Null).await.1["state"], "ended");
    assert_eq!(ask(&origin, "POST", "/admin/sales/demo/resume", Value::Null).await.0, 409);
    shop.quiet().await;
    shop.assert_whole(7).await;
}

#[tokio::test]
async fn what_is_wrong_is_said_and_changes_nothing() {
    let shop = Shop::selling(5).await;
    let origin = guarded(&shop).await;
    for (path, body, want) in [
        ("/admin/sales/none/pause", Value::Null, 404),
        ("/admin/sales/a%20b/pause", Value::Null, 400),
        ("/admin/sales/demo/restock", json!({"units": 0}), 400),
        ("/admin/sales/demo/restock", json!({"units": 1, "remark": "a\nb"}), 400),
        ("/admin/sales/demo/restock", json!({"unit": 1}), 400),
        ("/admin/sales/demo/restock", Value::Null, 400),
        ("/admin/sales/demo/reschedule", json!({"per_user": 0}), 400),
        ("/admin/sales/demo/reschedule", json!({"ends_at": 1}), 409),
        ("/admin/sales", json!({"sku": "x/y", "title": "T", "price": 1, "stock": 1}), 400),
        ("/admin/sales", json!({"sku": "x", "title": "T", "price": 1, "stock": 0}), 400),
        ("/admin/sales", json!({"sku": "x", "title": "T", "price": 1, "stock": 1, "currency": "cny"}), 400),
        ("/admin/sales", json!({"sku": "x", "title": "T", "price": 1, "stock": 1, "ends_at": 1}), 409),
        ("/admin/dead-letters/none/retry", Value::Null, 404),
        ("/admin/dead-letters/none/drop", Value::Null, 404),
    ] {
        let (status, told) = ask(&origin, "POST", path, body.clone()).await;
        assert_eq!((status, told["error"].is_string()), (want, true), "{path} {body}: {told}");
    }
    assert_eq!(ask(&origin, "GET", "/admin/orders/none", Value::Null).await.0, 404);
    assert_eq!(shop.stock().await, 5);
    assert_eq!(shop.sql.number("SELECT version FROM sales").await, 1);
    shop.redis.signal("-STOP");
    let (status, told) = ask(&origin, "POST", "/admin/sales/demo/pause", Value::Null).await;
    assert_eq!((status, told["error"].as_str().unwrap().contains("Redis will follow")), (503, true), "{told}");
    shop.redis.signal("-CONT");
    until("it has followed", || async { origin.client.place(&Order::by("1")).await.code() == "sale_paused" }).await;
}
