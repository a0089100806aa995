//! Payment callbacks, and the events that follow from them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use futures_util::future::join_all;
use sluice_origin::config::Secrets;

use crate::support::client::{Order, now};
use crate::support::gateway::{Callback, SECRET};
use crate::support::shop::Running;
use crate::support::{Shop, until};

fn success() -> (u16, String) {
    (200, "SUCCESS".to_owned())
}

fn fail(status: u16) -> (u16, String) {
    (status, "FAIL".to_owned())
}

/// A shop with an origin that takes callbacks, and one settled order of user 42.
async fn ordered() -> (Shop, Running, String) {
    let shop = Shop::selling(5).await;
    let mut config = shop.config();
    config.payment_secrets = Some(Secrets::parse(SECRET).unwrap());
    let origin = shop.origin_with(config).await;
    let id = origin.client.place(&Order::by("42")).await.order_id();
    shop.settled().await;
    (shop, origin, id)
}

async fn status(origin: &Running, id: &str) -> String {
    let seen = origin.client.get_as("42", &format!("/v1/orders/{id}"), None).await.json();
    seen["status"].as_str().unwrap().to_owned()
}

async fn payments(shop: &Shop) -> Vec<String> {
    shop.sql.texts("SELECT status FROM payments ORDER BY payment_no").await
}

#[tokio::test(flavor = "multi_thread")]
async fn r_payment_67_repeated_notifications_change_nothing() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    let paid = Callback::paid("P1", &id);
    let all = join_all((0..20).map(|_| paid.deliver(base))).await;
    assert!(all.iter().all(|answer| *answer == success()), "{all:?}");
    assert_eq!(status(&origin, &id).await, "paid");
    assert_eq!(payments(&shop).await, ["applied"]);
    assert_eq!(origin.counter("sluice_origin_payments_total{result=\"applied\"}").await, 1);
    // Without the marker SQL says the same.
    for key in shop.redis.ask::<Vec<String>>("KEYS sl1:{p0}:paid:*").await {
        let ttl: i64 = shop.redis.ask(&format!("PTTL {key}")).await;
        assert!((1..=7 * 24 * 3600 * 1000).contains(&ttl), "{ttl}");
        shop.redis.ask::<()>(&format!("DEL {key}")).await;
    }
    assert_eq!(paid.deliver(base).await, success());
    // A failure of that payment, told late or out of order, is an old story.
    assert_eq!(Callback::failed("P1", &id).deliver(base).await, success());
    assert_eq!(origin.client.cancel("42", &id).await.status, 409);
    assert_eq!(origin.client.cancel("42", &id).await.json()["status"], "paid");
    assert_eq!((status(&origin, &id).await, payments(&shop).await), ("paid".into(), vec!["applied".into()]));
    shop.quiet().await;
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn r_ruoyi_vue_pro_pr1156_two_channels_pay_one_order_and_the_second_is_refunded() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    let (one, two) = (Callback::paid("P1", &id), Callback::paid("P2", &id));
    let answers = tokio::join!(one.deliver(base), two.deliver(base));
    assert_eq!(answers, (success(), success()));
    let mut states = payments(&shop).await;
    states.sort();
    assert_eq!(states, ["applied", "refund_due"]);
    assert_eq!(two.deliver(base).await, success());
    assert_eq!(status(&origin, &id).await, "paid");
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_payment_that_comes_after_the_cancel_is_refunded_once() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    assert_eq!(origin.client.cancel("42", &id).await.status, 200);
    for _ in 0..3 {
        assert_eq!(Callback::paid("P1", &id).deliver(base).await, success());
    }
    assert_eq!((status(&origin, &id).await, payments(&shop).await), ("cancelled".into(), vec!["refund_due".into()]));
    assert_eq!(origin.counter("sluice_origin_payments_total{result=\"refund_due\"}").await, 1);
    shop.quiet().await;
    assert_eq!(shop.stock().await, 5);
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_failed_payment_cancels_and_money_that_comes_after_all_goes_back() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    assert_eq!(Callback::failed("P1", &id).deliver(base).await, success());
    assert_eq!((status(&origin, &id).await, payments(&shop).await), ("cancelled".into(), vec!["failed".into()]));
    for _ in 0..2 {
        assert_eq!(Callback::paid("P1", &id).deliver(base).await, success());
    }
    assert_eq!((status(&origin, &id).await, payments(&shop).await), ("cancelled".into(), vec!["refund_due".into()]));
    shop.quiet().await;
    assert_eq!(shop.stock().await, 5);
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn what_the_gateway_did_not_sign_just_now_is_refused_unless_it_is_known() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    let paid = Callback::paid("P1", &id);
    let time = now().0.to_string();
    let good = Secrets::parse(SECRET).unwrap().sign(&time, paid.body().as_bytes());
    let forger = Secrets::parse("forger-secret-0123456789abcdef0123").unwrap().sign(&time, paid.body().as_bytes());
    let other = Callback { amount: 1, ..paid.clone() };
    assert_eq!(paid.deliver_as(base, &time, &forger).await, fail(403));
    assert_eq!(paid.deliver_as(base, &time, "").await, fail(403));
    assert_eq!(paid.deliver_as(base, "1", &good).await, fail(403));
    assert_eq!(other.deliver_as(base, &time, &good).await, fail(403));
    for age in [301_000, -302_000] {
        assert_eq!(Callback { age, ..paid.clone() }.deliver(base).await, fail(403), "{age}");
    }
    assert_eq!((status(&origin, &id).await, payments(&shop).await), ("pending_payment".into(), Vec::new()));
    assert_eq!(paid.deliver_as(base, &time, &good).await, success());
    for key in shop.redis.ask::<Vec<String>>("KEYS sl1:{p0}:paid:*").await {
        shop.redis.ask::<()>(&format!("DEL {key}")).await;
    }
    let years = 1_000 * 3600 * 24 * 800;
    assert_eq!(Callback { age: years, ..paid.clone() }.deliver(base).await, success());
    assert_eq!(Callback { age: years, amount: 1, ..paid }.deliver(base).await, fail(403));
}

#[tokio::test]
async fn a_payment_of_another_amount_currency_or_order_is_no_payment() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    let paid = Callback::paid("P1", &id);
    assert_eq!(Callback { amount: 1, ..paid.clone() }.deliver(base).await, fail(400));
    assert_eq!(Callback { amount: -1999, ..paid.clone() }.deliver(base).await, fail(400));
    assert_eq!(Callback { currency: "USD", ..paid.clone() }.deliver(base).await, fail(400));
    let nobody = Callback { order: "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B".into(), ..paid.clone() };
    assert_eq!(nobody.deliver(base).await, fail(503), "it may be in the stream still");
    assert_eq!(Callback { number: "a b".into(), ..paid.clone() }.deliver(base).await, fail(400));
    assert_eq!((status(&origin, &id).await, payments(&shop).await), ("pending_payment".into(), Vec::new()));
    assert_eq!(paid.deliver(base).await, success());
    assert_eq!(Callback { amount: 1, ..paid }.deliver(base).await, fail(409));
    assert_eq!(payments(&shop).await, ["applied"]);
}

#[tokio::test]
async fn without_a_secret_nobody_can_tell_of_payments() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    assert_eq!(Callback::paid("P1", "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B").deliver(&origin.client.base).await, fail(404));
}

#[tokio::test]
async fn r_jseckill_19_while_sql_is_away_a_payment_is_told_again() {
    let (shop, origin, id) = ordered().await;
    let base = &origin.client.base;
    shop.sql.run("ALTER TABLE payments RENAME TO payments_away").await;
    assert_eq!(Callback::paid("P1", &id).deliver(base).await, fail(503));
    assert_eq!(status(&origin, &id).await, "pending_payment");
    shop.sql.run("ALTER TABLE payments_away RENAME TO payments").await;
    assert_eq!(Callback::paid("P1", &id).deliver(base).await, success());
    assert_eq!(status(&origin, &id).await, "paid");
}

/// A service that takes events, and is out of order at first.
async fn webhook(seen: Arc<Mutex<BTreeSet<String>>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/events", listener.local_addr().unwrap());
    let tried = Arc::new(Mutex::new(BTreeSet::new()));
    let take = move |headers: HeaderMap, body: Bytes| {
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        let secrets = Secrets::parse(SECRET).unwrap();
        assert!(secrets.verify(&header("sluice-timestamp"), &body, &header("sluice-signature")));
        let id = header("sluice-event-id");
        if tried.lock().unwrap().insert(id.clone()) {
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        let event: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(id.starts_with(event["event"].as_str().unwrap()), "{event}");
        seen.lock().unwrap().insert(format!("{id} {}", event["user_id"].as_str().unwrap()));
        StatusCode::OK
    };
    let routes = Router::new().route("/events", post(async move |headers, body| take(headers, body)));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

#[tokio::test]
async fn what_happens_to_orders_is_told_to_the_webhook_until_it_listens() {
    let shop = Shop::selling(5).await;
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut config = shop.config();
    config.payment_secrets = Some(Secrets::parse(SECRET).unwrap());
    config.webhook = Some((webhook(seen.clone()).await, Secrets::parse(SECRET).unwrap()));
    let origin = shop.origin_with(config).await;
    let one = origin.client.place(&Order::by("1")).await.order_id();
    let two = origin.client.place(&Order::by("2")).await.order_id();
    shop.settled().await;
    let base = &origin.client.base;
    assert_eq!(Callback::paid("P1", &one).deliver(base).await, success());
    assert_eq!(origin.client.cancel("2", &two).await.status, 200);
    assert_eq!(Callback::paid("P2", &two).deliver(base).await, success());
    let want: BTreeSet<String> = [
        format!("order.placed:{one} 1"),
        format!("order.placed:{two} 2"),
        "order.paid:P1 1".to_owned(),
        format!("order.cancelled:{two} 2"),
        "payment.refund_due:P2 2".to_owned(),
    ]
    .into();
    until("all events were taken", || async { *seen.lock().unwrap() == want }).await;
    shop.quiet().await;
    shop.assert_whole(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_may_have_a_payment_simulated_where_that_is_asked_for_and_nowhere_else() {
    let (shop, origin, id) = ordered().await;
    assert_eq!(origin.client.pay_simulated("42", &id).await.status, 404, "not asked for");
    origin.stop().await;
    let mut config = shop.config();
    config.payment_secrets = Some(Secrets::parse(SECRET).unwrap());
    config.simulates_payments = true;
    let origin = shop.origin_with(config).await;
    let stranger = origin.client.pay_simulated("43", &id).await;
    assert_eq!((stranger.status, stranger.code().as_str()), (404, "order_unknown"));
    for _ in 0..2 {
        let paid = origin.client.pay_simulated("42", &id).await;
        assert_eq!((paid.status, paid.json()["status"].as_str()), (200, Some("paid")));
    }
    assert_eq!(payments(&shop).await, ["applied"], "paid once");
    let other = origin.client.place(&Order::by("44")).await.order_id();
    shop.settled().await;
    assert_eq!(origin.client.cancel("44", &other).await.status, 200);
    let late = origin.client.pay_simulated("44", &other).await;
    assert_eq!((late.status, late.json()["status"].as_str()), (200, Some("cancelled")), "the money is to go back");
}
