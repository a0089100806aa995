//! Redis against SQL: compared, repaired, and made anew after a loss.

use std::time::Duration;

use serde_json::Value;

use crate::support::client::Order;
use crate::support::{Shop, until};

async fn reconcile(shop: &Shop) -> (Option<i32>, Value) {
    let done = shop.tool("reconcile --json").await;
    let report = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("no JSON: {done:?}"));
    (done.status.code(), report)
}

async fn recover(shop: &Shop) -> Value {
    let done = shop.tool("recover --json").await;
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

fn numbers(report: &Value) -> [i64; 5] {
    let sale = &report["sales"][0];
    ["redis_stock", "sql_stock", "unsettled", "owed", "difference"].map(|name| sale[name].as_i64().unwrap())
}

#[tokio::test]
async fn accepted_settled_and_cancelled_orders_all_agree() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(origin.client.place(&Order::by(n)).await.order_id());
    }
    shop.settled().await;
    assert_eq!(origin.client.cancel("0", &ids[0]).await.status, 200);
    shop.quiet().await;
    assert_eq!(reconcile(&shop).await.0, Some(0));
    origin.stop().await;
    // Taken in Redis, and nobody settles.
    let lone = shop.origin().await;
    let lock = shop.sql.lock().await;
    for n in 10..13 {
        lone.client.place(&Order::by(n)).await.order_id();
    }
    lone.abort();
    lock.release().await;
    let (code, report) = reconcile(&shop).await;
    let [redis, sql, unsettled, owed, difference] = numbers(&report);
    assert_eq!((code, redis, sql - unsettled, owed, difference), (Some(0), 43, 43, 0, 0), "{report}");
    // Given back by SQL, and Redis has not been told.
    let _origin = shop.origin().await;
    shop.quiet().await;
    shop.sql.run("UPDATE outbox SET done_at = NULL, next_at = 9999999999999 WHERE kind = 'restore'").await;
    let marker = format!("sl1:{{p0}}:restored:{}", ids[0]);
    shop.redis.ask::<()>(&format!("DEL {marker}")).await;
    shop.redis.ask::<()>("DECRBY sl1:{p0}:stock:demo 1").await;
    let (code, report) = reconcile(&shop).await;
    assert_eq!((code, numbers(&report)), (Some(0), [42, 43, 0, 1, 0]), "{report}");
    // And when it was told, and died before it could say so.
    shop.redis.ask::<()>(&format!("SET {marker} 1 PX 60000")).await;
    shop.redis.ask::<()>("INCRBY sl1:{p0}:stock:demo 1").await;
    let (code, report) = reconcile(&shop).await;
    assert_eq!((code, numbers(&report)), (Some(0), [43, 43, 0, 0, 0]), "{report}");
}

#[tokio::test]
async fn a_stock_that_somebody_changed_is_found_to_the_unit_and_repaired() {
    let shop = Shop::selling(50).await;
    let mut config = shop.config();
    config.reconcile_every = Duration::from_millis(300);
    let origin = shop.origin_with(config).await;
    for n in 0..5 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    shop.settled().await;
    let mut left = 45;
    for change in [3, -3] {
        shop.redis.ask::<()>(&format!("INCRBY sl1:{{p0}}:stock:demo {change}")).await;
        let (code, report) = reconcile(&shop).await;
        assert_eq!((code, report["sales"][0]["difference"].as_i64()), (Some(1), Some(change)), "{report}");
        until("the job has noticed", || async { origin.counter("sluice_origin_mismatched_sales").await == 1 }).await;
        let repaired = shop.tool("reconcile --repair demo").await;
        assert!(repaired.status.success(), "{repaired:?}");
        assert_eq!(shop.stock().await, left);
        origin.client.place(&Order::by(format!("again{change}"))).await.order_id();
        shop.settled().await;
        left -= 1;
    }
    shop.assert_whole(50).await;
    until("the job has seen the repair", || async { origin.counter("sluice_origin_mismatched_sales").await == 0 })
        .await;
}

#[tokio::test]
async fn while_orders_flow_nothing_is_found_that_is_not_there() {
    let shop = Shop::selling(2000).await;
    let origin = shop.origin().await;
    let client = origin.client.clone();
    let buying = tokio::spawn(async move {
        for n in 0..400 {
            client.place(&Order::by(n)).await.order_id();
        }
    });
    for _ in 0..4 {
        let (code, report) = reconcile(&shop).await;
        assert_eq!(code, Some(0), "{report}");
    }
    buying.await.unwrap();
    shop.settled().await;
    assert_eq!(reconcile(&shop).await.0, Some(0));
}

#[tokio::test]
async fn after_redis_was_lost_the_sale_is_shut_until_it_is_recovered_from_sql() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let orders: Vec<Order> = (0..6).map(Order::by).collect();
    let mut ids = Vec::new();
    for order in &orders {
        ids.push(origin.client.place(order).await.order_id());
    }
    shop.settled().await;
    assert_eq!(origin.client.cancel("5", &ids[5]).await.status, 200);
    shop.quiet().await;
    shop.redis.ask::<()>("FLUSHALL").await;
    let shut = origin.client.place(&Order::by("new")).await;
    assert_eq!((shut.status, shut.code()), (503, "sale_unavailable".into()));
    let (code, report) = reconcile(&shop).await;
    assert_eq!((code, report["sales"][0]["redis_stock"].is_null()), (Some(1), true), "{report}");

    let report = recover(&shop).await;
    let sale = &report["sales"][0];
    assert_eq!((sale["stock_before"].is_null(), sale["stock"].as_i64()), (true, Some(45)), "{report}");
    assert_eq!((sale["buyers"].as_i64(), sale["requests"].as_i64()), (Some(5), Some(6)), "{report}");
    assert_eq!(sale["status"], "open");
    assert_eq!(shop.redis.ask::<i64>("ZCARD sl1:{p0}:due").await, 5);
    assert_eq!(shop.stock().await, 45);
    // The same operation has the same order; the same buyer has bought; who gave back may buy again.
    assert_eq!(origin.client.place(&orders[0]).await.order_id(), ids[0]);
    assert_eq!(origin.client.place(&orders[5]).await.order_id(), ids[5]);
    assert_eq!(origin.client.place(&Order::by("1")).await.code(), "already_bought");
    origin.client.place(&Order::by("5")).await.order_id();
    origin.client.place(&Order::by("new")).await.order_id();
    assert!(shop.redis.ask::<i64>("GET sl1:{p0}:seq").await > 1_000_000_000);
    let ttl: i64 = shop.redis.ask(&format!("PTTL sl1:{{p0}}:req:{}", orders[0].op.id)).await;
    assert!((1..=24 * 3600 * 1000).contains(&ttl), "{ttl}");
    shop.quiet().await;
    assert_eq!(reconcile(&shop).await.0, Some(0));
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn after_redis_was_rolled_back_no_unit_is_sold_twice() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let orders: Vec<Order> = (0..4).map(Order::by).collect();
    for order in &orders {
        origin.client.place(order).await.order_id();
    }
    shop.settled().await;
    // As after a restart from a file that lacks the last two orders.
    for line in ["SET sl1:{p0}:seq 2", "INCRBY sl1:{p0}:stock:demo 2", "HDEL sl1:{p0}:buyers:demo 2 3"] {
        shop.redis.ask::<()>(line).await;
    }
    shop.redis.ask::<()>(&format!("DEL sl1:{{p0}}:req:{}", orders[3].op.id)).await;
    assert_eq!(origin.client.place(&Order::by("9")).await.refusal(), (503, "sale_unavailable".into(), None));
    let report = recover(&shop).await;
    assert_eq!(report["sales"][0]["stock_before"].as_i64(), Some(3), "{report}");
    assert_eq!(
        (report["partitions"][0]["highest_seq"].as_i64(), report["partitions"][0]["missing"].as_i64()),
        (Some(4), Some(0))
    );
    assert_eq!(origin.client.place(&Order::by("3")).await.code(), "already_bought");
    origin.client.place(&orders[3]).await.order_id();
    origin.client.place(&Order::by("9")).await.order_id();
    assert_eq!(origin.client.place(&Order::by("10")).await.code(), "sold_out");
    shop.quiet().await;
    assert_eq!(shop.orders("pending_payment").await, 5);
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_recovery_settles_what_the_stream_still_holds_without_any_serve() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    for n in 0..10 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    origin.abort();
    lock.release().await;
    shop.redis.ask::<()>("XGROUP DESTROY sl1:{p0}:orders settle").await;
    shop.redis.ask::<()>("DEL sl1:{p0}:stock:demo").await;
    let report = recover(&shop).await;
    assert_eq!((report["sales"][0]["stock"].as_i64(), report["sales"][0]["buyers"].as_i64()), (Some(40), Some(10)));
    assert_eq!(shop.orders("pending_payment").await, 10);
    shop.assert_whole(50).await;
    let again = recover(&shop).await;
    assert_eq!(again["sales"][0]["stock_before"].as_i64(), Some(40));
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn what_sql_had_given_back_when_redis_was_lost_is_not_given_back_twice() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --no-rebuy").await;
    let origin = shop.origin().await;
    let id = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    assert_eq!(origin.client.cancel("1", &id).await.status, 200);
    shop.quiet().await;
    origin.stop().await;
    // As if Redis had been lost before it was told.
    shop.sql.run("UPDATE outbox SET done_at = NULL").await;
    assert!(shop.tool("sale restock demo --units 2").await.status.success());
    shop.redis.ask::<()>("FLUSHALL").await;
    let report = recover(&shop).await;
    assert_eq!((report["sales"][0]["stock"].as_i64(), report["sales"][0]["buyers"].as_i64()), (Some(7), Some(1)));
    let origin = shop.origin().await;
    until("the outbox is empty", || async {
        shop.sql.number("SELECT COUNT(*) FROM outbox WHERE done_at IS NULL").await == 0
    })
    .await;
    assert_eq!(shop.stock().await, 7);
    assert_eq!(origin.client.place(&Order::by("1")).await.code(), "already_bought", "it may not buy again");
    shop.assert_whole(7).await;
}

#[tokio::test]
async fn a_sale_that_was_paused_before_stays_paused_and_a_closed_one_stays_away() {
    let shop = Shop::selling(5).await;
    let other = shop.tool("sale create --sku other --title T --price 1 --stock 3").await;
    assert!(other.status.success());
    assert!(shop.tool("sale close other").await.status.success());
    assert!(shop.tool("sale pause demo").await.status.success());
    shop.redis.ask::<()>("FLUSHALL").await;
    let report = recover(&shop).await;
    assert_eq!(report["sales"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["sales"][0]["status"], "paused");
    let origin = shop.origin().await;
    assert_eq!(origin.client.place(&Order::by("1")).await.code(), "sale_paused");
    assert!(shop.tool("sale resume demo").await.status.success());
    origin.client.place(&Order::by("1")).await.order_id();
    assert_eq!(shop.redis.ask::<i64>("EXISTS sl1:{p0}:stock:other").await, 0);
    shop.quiet().await;
    shop.assert_whole(5).await;
}
