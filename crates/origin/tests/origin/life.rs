//! What becomes of an order after it was settled: cancelled, timed out, or neither.

use std::time::Duration;

use futures_util::future::join_all;

use crate::support::client::{Order, now};
use crate::support::gateway::{Callback, SECRET};
use crate::support::{Shop, until};
use sluice_origin::config::Secrets;

#[tokio::test]
async fn an_owner_cancels_once_and_may_buy_again() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let id = origin.client.place(&Order::by("42")).await.order_id();
    shop.settled().await;
    for stranger in ["43", "4"] {
        assert_eq!(origin.client.cancel(stranger, &id).await.code(), "order_unknown");
    }
    let first = origin.client.cancel("42", &id).await;
    assert_eq!((first.status, first.json()["status"].as_str()), (200, Some("cancelled")));
    let again = origin.client.cancel("42", &id).await;
    assert_eq!((again.status, again.body), (200, first.body));
    shop.quiet().await;
    assert_eq!(shop.stock().await, 5);
    let seen = origin.client.get_as("42", &format!("/v1/orders/{id}"), None).await.json();
    assert_eq!((seen["status"].as_str(), seen["pay_by"].as_i64()), (Some("cancelled"), None));

    let second = origin.client.place(&Order::by("42")).await.order_id();
    shop.quiet().await;
    assert_ne!(second, id);
    assert_eq!((shop.orders("pending_payment").await, shop.orders("cancelled").await), (1, 1));
    assert_eq!(
        shop.sql.texts("SELECT kind FROM inventory_log ORDER BY id").await,
        ["initial", "order", "cancel", "order"]
    );
    shop.assert_whole(5).await;
    assert_eq!(origin.client.cancel("42", "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B").await.code(), "order_unknown");
    assert_eq!(origin.client.cancel("42", "x").await.code(), "order_unknown");
}

#[tokio::test]
async fn r_eshop_221_what_sql_has_not_taken_yet_cannot_be_given_back() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    let id = origin.client.place(&Order::by("42")).await.order_id();
    let early = origin.client.cancel("42", &id).await;
    assert_eq!((early.status, early.code()), (409, "in_progress".into()));
    assert!(early.header("retry-after").is_some());
    assert_eq!(origin.client.cancel("43", &id).await.code(), "order_unknown");
    lock.release().await;
    shop.settled().await;
    assert_eq!(origin.client.cancel("42", &id).await.status, 200);
    shop.quiet().await;
    assert_eq!(shop.stock().await, 5);
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn who_may_not_buy_again_stays_a_buyer_after_a_cancel() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --no-rebuy").await;
    let origin = shop.origin().await;
    let id = origin.client.place(&Order::by("42")).await.order_id();
    shop.settled().await;
    assert_eq!(origin.client.cancel("42", &id).await.status, 200);
    shop.quiet().await;
    assert_eq!(shop.stock().await, 5, "the unit is another's");
    let again = origin.client.place(&Order::by("42")).await;
    assert_eq!((again.code(), again.json()["order_id"].as_str()), ("already_bought".into(), Some(id.as_str())));
    // And where Redis has forgotten the buyer, SQL has not.
    shop.redis.ask::<()>("DEL sl1:{p0}:buyers:demo").await;
    origin.client.place(&Order::by("42")).await.order_id();
    shop.quiet().await;
    assert_eq!((shop.orders("failed").await, shop.orders("pending_payment").await), (1, 0));
    shop.assert_whole(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_mall_371_the_set_and_the_sweep_of_two_origins_close_each_order_once() {
    let shop = Shop::new().await;
    shop.create("--stock 30 --pay-within 1s").await;
    let mut config = shop.config();
    config.sweep_every = Duration::from_millis(50);
    let one = shop.origin_with(config.clone()).await;
    config.consumer = "another".into();
    let two = shop.origin_with(config).await;
    let ids = join_all((0..20).map(|n| {
        let client = if n % 2 == 0 { &one.client } else { &two.client };
        async move { client.place(&Order::by(n)).await.order_id() }
    }))
    .await;
    shop.settled().await;
    let pending = one.client.get_as("0", &format!("/v1/orders/{}", ids[0]), None).await.json();
    assert!(pending["status"] == "cancelled" || pending["pay_by"].as_u64().unwrap() <= now().0 + 1000, "{pending}");
    until("all have timed out", || async { shop.orders("cancelled").await == 20 }).await;
    shop.quiet().await;
    assert_eq!(shop.stock().await, 30);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM inventory_log").await, 41);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM orders WHERE reason = 'timed_out'").await, 20);
    until("none is due any more", || async { shop.redis.ask::<i64>("ZCARD sl1:{p0}:due").await == 0 }).await;
    shop.assert_whole(30).await;
    one.client.place(&Order::by("0")).await.order_id();
}

#[tokio::test]
async fn an_order_that_a_dead_process_had_taken_is_lent_out_again_and_one_that_redis_forgot_is_swept() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --pay-within 1s").await;
    let mut config = shop.config();
    config.sweep_every = Duration::from_secs(3600);
    let origin = shop.origin_with(config.clone()).await;
    let lock = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    // As `due.lua` leaves it for a taker that then dies.
    let lease = now().0 + 1500;
    shop.redis.ask::<()>(&format!("ZADD sl1:{{p0}}:due {lease} {lock}")).await;
    until("its lease has ended", || async { shop.orders("cancelled").await == 1 }).await;
    assert!(now().0 >= lease);

    origin.client.place(&Order::by("2")).await.order_id();
    shop.settled().await;
    shop.redis.ask::<()>("DEL sl1:{p0}:due").await;
    origin.stop().await;
    config.sweep_every = Duration::from_millis(100);
    let _origin = shop.origin_with(config).await;
    until("it is swept", || async { shop.orders("cancelled").await == 2 }).await;
    shop.quiet().await;
    shop.assert_whole(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_against_pay_against_time_out_has_one_winner_and_loses_no_unit() {
    let shop = Shop::new().await;
    shop.create("--stock 60 --pay-within 1s").await;
    let mut config = shop.config();
    config.sweep_every = Duration::from_millis(50);
    config.payment_secrets = Some(Secrets::parse(SECRET).unwrap());
    let origin = shop.origin_with(config).await;
    let ids = join_all((0..40).map(|n| {
        let client = &origin.client;
        async move { client.place(&Order::by(n)).await.order_id() }
    }))
    .await;
    shop.settled().await;
    // Spread over the moment at which the time to pay ends.
    join_all(ids.iter().enumerate().map(|(n, id)| {
        let client = &origin.client;
        async move {
            tokio::time::sleep(Duration::from_millis(30 * n as u64)).await;
            let user = n.to_string();
            let payment = Callback::paid(n, id);
            let (cancelled, paid) = tokio::join!(client.cancel(&user, id), payment.deliver(&client.base));
            assert!([200, 409].contains(&cancelled.status), "{cancelled:?}");
            assert_eq!(paid, (200, "SUCCESS".to_owned()));
        }
    }))
    .await;
    shop.quiet().await;
    let (paid, cancelled) = (shop.orders("paid").await, shop.orders("cancelled").await);
    assert_eq!(paid + cancelled, 40);
    let state =
        async |state: &str| shop.sql.number(&format!("SELECT COUNT(*) FROM payments WHERE status = '{state}'")).await;
    assert_eq!((state("applied").await, state("refund_due").await), (paid, cancelled));
    assert_eq!(shop.stock().await, 60 - paid);
    shop.assert_whole(60).await;
}
