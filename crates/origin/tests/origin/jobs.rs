//! What one origin at a time does: under a lock, and under a lease in SQL while Redis is away.

use std::time::Duration;

use crate::support::client::Order;
use crate::support::{Shop, until};

const RECONCILE: &str = "sl1:lock:{p0}:reconcile";

#[tokio::test]
async fn of_two_origins_one_has_a_job_and_the_other_takes_it_over_within_the_ttl_of_one_that_was_killed() {
    let shop = Shop::selling(5).await;
    let (mut first, _) = shop.process("first").await;
    let holder = || shop.redis.ask::<Option<String>>("GET sl1:lock:{p0}:reconcile");
    until("the first has the job", || async { holder().await.is_some() }).await;
    let token = holder().await;
    let (_second, client) = shop.process("second").await;
    // Whoever waits for the next reconciliation keeps the job all the time.
    for _ in 0..20 {
        assert_eq!(holder().await, token, "the first is alive");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    first.kill().await.unwrap();
    let left: i64 = shop.redis.ask(&format!("PTTL {RECONCILE}")).await;
    assert!((1..=10_000).contains(&left), "the lock of the dead has an end: {left}");
    until("the second has it", || async { holder().await.is_some_and(|now| Some(now) != token) }).await;
    // And it does what there is to be done.
    let id = client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    assert_eq!(client.cancel("1", &id).await.status, 200);
    until("the unit is back", || async { shop.stock().await == 5 }).await;
    shop.quiet().await;
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn what_a_dead_holder_has_left_behind_is_waited_for_and_then_done() {
    let shop = Shop::selling(5).await;
    let mut config = shop.config();
    config.job_ttl = Duration::from_millis(500);
    let (origin, _other) = (shop.origin_with(config.clone()).await, shop.origin_with(config).await);
    let id = origin.client.place(&Order::by("1")).await.order_id();
    shop.quiet().await;
    // Between two turns the lock is free; then it is another's, who died.
    let lock = "sl1:lock:{p0}:outbox";
    until("the lock is had", || async {
        shop.redis.ask::<Option<String>>(&format!("SET {lock} dead NX PX 3000")).await.is_some()
    })
    .await;
    assert_eq!(origin.client.cancel("1", &id).await.status, 200);
    let mut looks = 0;
    loop {
        let stock = shop.stock().await;
        if shop.redis.ask::<Option<String>>(&format!("GET {lock}")).await.as_deref() != Some("dead") {
            break;
        }
        assert_eq!(stock, 4, "neither origin does what the holder has to do");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(looks > 10, "{looks}");
    shop.quiet().await;
    shop.assert_whole(5).await;
    let metrics = origin.admin.get("/metrics").await.body;
    for name in ["lock_wait_seconds_count{kind=\"watchdog\"}", "lock_hold_seconds_count{kind=\"watchdog\"}"] {
        assert!(metrics.contains(&format!("sluice_origin_{name}")), "{name}: {metrics}");
    }
    assert!(metrics.contains("sluice_origin_lock_not_acquired_total{kind=\"watchdog\",reason=\"busy\"}"), "{metrics}");
}

#[tokio::test]
async fn without_redis_the_jobs_go_on_under_the_lease_in_sql() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --pay-within 3s").await;
    let mut config = shop.config();
    config.sweep_every = Duration::from_millis(50);
    config.job_ttl = Duration::from_secs(2);
    let (origin, _other) = (shop.origin_with(config.clone()).await, shop.origin_with(config).await);
    origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM leases").await, 0, "SQL is not asked while Redis answers");
    shop.redis.signal("-STOP");
    until("the order is cancelled", || async { shop.orders("cancelled").await == 1 }).await;
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM leases WHERE name = 'due' AND owner <> ''").await, 1);
    shop.redis.signal("-CONT");
    until("the unit is back", || async { shop.stock().await == 5 }).await;
    shop.quiet().await;
    shop.assert_whole(5).await;
}
