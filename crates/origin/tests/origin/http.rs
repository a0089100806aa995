//! The routes: what is asked for, and what is refused.

use sluice::assertion::{Assertion, Assertions};
use sluice::digest::body_hash;
use sluice::model::Millis;

use crate::support::Shop;
use crate::support::client::{Order, SECRET, now};

fn assertion(order: &Order, body: &str) -> Assertion {
    Assertion {
        sub: Some(order.user.clone()),
        ip: Some("1.2.3.4".into()),
        sku: Some(order.sku.clone()),
        mtd: "POST".into(),
        pth: "/v1/sales/demo/orders".into(),
        bdy: body_hash(body.as_bytes()),
        op: Some(order.op.clone()),
    }
}

const BODY: &str = r#"{"quantity":1}"#;

#[tokio::test]
async fn only_what_the_edge_vouched_for_is_served() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let order = Order::by("42");
    let good = assertion(&order, BODY);
    let mut wrong = vec![
        Assertion { sub: None, ..good.clone() },
        Assertion { sub: Some(String::new()), ..good.clone() },
        Assertion { sku: None, ..good.clone() },
        Assertion { sku: Some("other".into()), ..good.clone() },
        Assertion { mtd: "GET".into(), ..good.clone() },
        Assertion { pth: "/v1/sales/demo/orders?x=1".into(), ..good.clone() },
        Assertion { pth: "/v1/sales/other/orders".into(), ..good.clone() },
        Assertion { bdy: body_hash(b"{}"), ..good.clone() },
        Assertion { op: None, ..good.clone() },
    ];
    let mut nameless = good.clone();
    nameless.op.as_mut().unwrap().id = String::new();
    wrong.push(nameless);
    let sign =
        |secret: &str, assertion: &Assertion, at: Millis| Assertions::new(secret).unwrap().sign(assertion.clone(), at);
    let mut tokens: Vec<Option<String>> = wrong.iter().map(|one| Some(sign(SECRET, one, now()))).collect();
    tokens.push(None);
    tokens.push(Some("nonsense".into()));
    tokens.push(Some(sign("another-secret-0123456789abcdef01", &good, now())));
    tokens.push(Some(sign(SECRET, &good, Millis(now().0 - 60_000))));
    for token in tokens {
        let answer = origin.client.send_with("POST", "/v1/sales/demo/orders", token.as_deref(), BODY).await;
        assert_eq!(answer.refusal(), (403, "assertion_invalid".into(), None), "{token:?}");
    }
    assert_eq!(shop.stock().await, 5);
    let answer = origin.client.send(&good, BODY).await;
    assert_eq!(answer.header("location").unwrap(), format!("/v1/orders/{}", answer.order_id()));
}

#[tokio::test]
async fn a_bad_body_is_final_and_touches_nothing() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let order = Order::by("42");
    for (body, code) in [
        ("{", "invalid_body"),
        ("[]", "invalid_body"),
        (r#"{"quantity":0}"#, "invalid_quantity"),
        (r#"{"quantity":-1}"#, "invalid_quantity"),
        (r#"{"quantity":1.5}"#, "invalid_quantity"),
        (r#"{"quantity":99999999999999999999}"#, "invalid_quantity"),
    ] {
        let answer = origin.client.send(&assertion(&order, body), body).await;
        assert_eq!(answer.refusal(), (400, code.into(), Some("final")), "{body}");
    }
    let big = format!("{{\"pad\":\"{}\"}}", "x".repeat(70_000));
    let answer = origin.client.send(&assertion(&order, &big), &big).await;
    assert_eq!((answer.status, answer.code()), (413, "body_too_large".into()));
    assert_eq!(shop.stock().await, 5);
}

#[tokio::test]
async fn an_order_is_queued_then_pending_and_only_its_owners() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    let id = origin.client.place(&Order::by("42")).await.order_id();
    let path = format!("/v1/orders/{id}");
    let queued = origin.client.get_as("42", &path, None).await.json();
    assert_eq!((queued["status"].as_str(), queued["quantity"].as_u64()), (Some("queued"), Some(1)));
    let mine = origin.client.get_as("42", "/v1/sales/demo/orders/mine", Some("demo")).await.json();
    assert_eq!(mine["orders"][0], queued);
    assert_eq!(origin.client.get_as("43", &path, None).await.code(), "order_unknown");
    lock.release().await;
    shop.settled().await;

    let pending = origin.client.get_as("42", &path, None).await.json();
    assert_eq!(pending["status"], "pending_payment");
    for member in ["order_id", "sku", "quantity", "amount", "created_at"] {
        assert_eq!(pending[member], queued[member], "{member}");
    }
    let mine = origin.client.get_as("42", "/v1/sales/demo/orders/mine", Some("demo")).await.json();
    assert_eq!(mine["orders"], serde_json::json!([pending]));
    assert_eq!(origin.client.get_as("43", &path, None).await.code(), "order_unknown");
    let none = origin.client.get_as("43", "/v1/sales/demo/orders/mine", Some("demo")).await.json();
    assert_eq!(none["orders"].as_array().map(Vec::len), Some(0));

    // Redis has forgotten it: SQL alone will do.
    shop.redis.ask::<()>(&format!("DEL sl1:{{p0}}:order:{id}")).await;
    assert_eq!(origin.client.get_as("42", &path, None).await.json(), pending);
    for bad in ["/v1/orders/x", "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B", "/v1/orders/9-01JDZV6Q8W3M5K9T2R4X7Y1C0B"] {
        assert_eq!(origin.client.get_as("42", bad, None).await.code(), "order_unknown", "{bad}");
    }
    assert_eq!(origin.client.get(&path).await.code(), "assertion_invalid");
}

#[tokio::test]
async fn a_sale_tells_its_state_to_everybody() {
    let shop = Shop::selling(1).await;
    let mut config = shop.config();
    config.sale_ttl = Millis(0);
    let origin = shop.origin_with(config).await;
    let state = async || origin.client.get("/v1/sales/demo").await.json();
    let open = state().await;
    assert_eq!(
        (open["state"].as_str(), open["stock"].as_i64(), open["price"].as_u64()),
        (Some("open"), Some(1), Some(1999))
    );
    assert_eq!((open["title"].as_str(), open["currency"].as_str()), (Some("Demo"), Some("CNY")));
    assert!(open["starts_at"].as_u64() <= open["now"].as_u64() && open["now"].as_u64() < open["ends_at"].as_u64());
    shop.tool("sale pause demo").await;
    assert_eq!(state().await["state"], "paused");
    shop.tool("sale resume demo").await;
    origin.client.place(&Order::by("1")).await.order_id();
    assert_eq!(state().await["state"], "sold_out");
    let unknown = origin.client.get("/v1/sales/none").await;
    assert_eq!((unknown.status, unknown.code()), (404, "sale_unknown".into()));
    assert_eq!(origin.client.get("/v1/sales/a%20b").await.code(), "invalid_sku");
    assert_eq!(origin.client.get("/v1/sales/%ff").await.code(), "invalid_path");
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_too() {
    let shop = Shop::selling(1).await;
    let origin = shop.origin().await;
    let lost = origin.client.get("/v1/nothing").await;
    assert_eq!((lost.status, lost.code()), (404, "not_found".into()));
    let wrong = origin.client.send_with("DELETE", "/v1/sales/demo", None, "").await;
    assert_eq!((wrong.status, wrong.code()), (405, "method_not_allowed".into()));
    assert_eq!(origin.client.get("/healthz").await.json()["status"], "ok");
    assert_eq!(origin.client.get("/metrics").await.status, 404, "on the operators' listener only");
}
