//! Killed processes, and stores that go away.

use crate::support::client::Order;
use crate::support::{Shop, until};

async fn pending(shop: &Shop) -> i64 {
    let pending: (i64, redis::Value, redis::Value, redis::Value) =
        shop.redis.ask("XPENDING sl1:{p0}:orders settle").await;
    pending.0
}

#[tokio::test]
async fn r_seckill_rocketmq_2_killed_between_commit_and_acknowledgement_redelivery_is_a_no_op() {
    let shop = Shop::selling(50).await;
    let (mut process, client) = shop.process("one").await;
    let lock = shop.sql.lock().await;
    for n in 0..10 {
        client.place(&Order::by(n)).await.order_id();
    }
    until("some are in hand", || async { pending(&shop).await > 0 }).await;
    let in_hand = pending(&shop).await;
    // From here on Redis takes no writes: the batch can be committed, and not be acknowledged.
    shop.redis.ask::<()>("CLIENT PAUSE 60000 WRITE").await;
    lock.release().await;
    until("it is committed", || async { shop.orders("pending_payment").await >= in_hand }).await;
    process.kill().await.unwrap();
    until("its connections are gone", || async {
        let clients: String = shop.redis.ask("CLIENT LIST").await;
        clients.lines().count() <= 1
    })
    .await;
    shop.redis.ask::<()>("CLIENT UNPAUSE").await;
    assert!(pending(&shop).await >= in_hand, "nothing was acknowledged");

    let (_process, _) = shop.process("one").await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 10);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM inventory_log").await, 11);
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn a_process_that_is_killed_at_any_moment_loses_nothing() {
    let shop = Shop::selling(1000).await;
    let mut accepted = 0i64;
    for round in 0..3u64 {
        let (mut process, client) = shop.process("one").await;
        let mut orders = tokio::task::JoinSet::new();
        for n in 0..60 {
            let client = client.clone();
            orders.spawn(async move {
                let order = Order::by(format!("{round}-{n}"));
                client.try_place(&order).await.is_ok_and(|answer| answer.status == 202)
            });
        }
        let mut done = 0;
        while let Some(ok) = orders.join_next().await {
            accepted += i64::from(ok.unwrap());
            done += 1;
            if done == 20 * (round + 1) {
                process.start_kill().unwrap();
            }
        }
        process.wait().await.unwrap();
    }
    assert!(accepted >= 60, "{accepted}");
    let (_process, _) = shop.process("one").await;
    shop.settled().await;
    assert!(shop.orders("pending_payment").await >= accepted, "every acknowledged order is there");
    shop.assert_whole(1000).await;
}

#[tokio::test]
async fn while_sql_is_locked_orders_are_accepted_and_none_is_lost() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    for n in 0..20 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    assert_eq!(shop.orders("pending_payment").await, 0);
    lock.release().await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 20);
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn an_outage_of_sql_never_counts_against_an_entry() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    shop.sql.run("ALTER TABLE orders RENAME TO orders_away").await;
    for n in 0..20 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    until("it was tried more than five times", || async {
        origin.counter("sluice_origin_settle_retries_total").await > 6
    })
    .await;
    shop.sql.run("ALTER TABLE orders_away RENAME TO orders").await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 20);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM dead_letters").await, 0);
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn redis_that_hangs_is_unsure_and_redis_that_comes_back_sells_on() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let order = Order::by("1");
    shop.redis.signal("-STOP");
    let unsure = origin.client.place(&order).await;
    assert_eq!(unsure.refusal(), (503, "sale_unavailable".into(), None), "it was sent: it may have been done");
    let ready = origin.client.get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("redis"), "{ready:?}");
    shop.redis.signal("-CONT");
    until("it sells again", || async { origin.client.place(&order).await.status == 202 }).await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 1, "the same operation is one order, however often it was sent");
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn an_origin_without_redis_says_so_and_nothing_was_done() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    drop(shop.redis);
    until("it has noticed", || async {
        origin.client.place(&Order::by("1")).await.refusal() == (503, "sale_unavailable".into(), None)
    })
    .await;
    assert_eq!(origin.client.get("/healthz").await.status, 200);
    assert_eq!(origin.client.get("/readyz").await.status, 503);
}

#[tokio::test]
async fn a_shutdown_finishes_the_batch_and_leaves_nothing_pending() {
    let shop = Shop::selling(500).await;
    let origin = shop.origin().await;
    for n in 0..100 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    origin.stop().await;
    assert_eq!(pending(&shop).await, 0);
    let settled = shop.orders("pending_payment").await;
    let _origin = shop.origin().await;
    shop.settled().await;
    assert!(settled <= 100);
    assert_eq!(shop.orders("pending_payment").await, 100);
    shop.assert_whole(500).await;
}
