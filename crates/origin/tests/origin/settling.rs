//! From the stream into SQL: groups, batches, takeovers, poison.

use futures_util::future::join_all;

use crate::support::client::Order;
use crate::support::{Shop, until};

#[tokio::test]
async fn r_redis_6227_the_group_begins_at_the_first_entry() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    for n in 0..10 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    origin.stop().await;
    lock.release().await;
    assert_eq!(shop.orders("pending_payment").await, 0);
    shop.redis.ask::<()>("XGROUP DESTROY sl1:{p0}:orders settle").await;
    let _origin = shop.origin().await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 10);
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn r_cookie_cutter_pr164_a_group_that_vanishes_is_made_again() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    shop.redis.ask::<()>("XGROUP DESTROY sl1:{p0}:orders settle").await;
    origin.client.place(&Order::by("2")).await.order_id();
    until("both are settled", || async { shop.orders("pending_payment").await == 2 }).await;
    // The whole stream goes, too.
    shop.settled().await;
    shop.redis.ask::<()>("DEL sl1:{p0}:orders").await;
    origin.client.place(&Order::by("3")).await.order_id();
    until("the third is settled", || async { shop.orders("pending_payment").await == 3 }).await;
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn r_interview_guide_pr37_what_a_dead_consumer_left_is_taken_over() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    for n in 0..10 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    origin.stop().await;
    lock.release().await;
    // The first origin's entries are pending under its name, which is gone for good.
    let pending: (i64, redis::Value, redis::Value, redis::Value) =
        shop.redis.ask("XPENDING sl1:{p0}:orders settle").await;
    assert!(pending.0 > 0);
    let _other = shop.origin().await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 10);
    shop.assert_whole(50).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_seckill_rocketmq_12_two_origins_sell_and_settle_no_more_than_one() {
    let shop = Shop::selling(60).await;
    let (one, two) = (shop.origin().await, shop.origin().await);
    let clients = [&one.client, &two.client];
    let answers = join_all((0..200).map(|n| {
        let (client, order) = (clients[n % 2], Order::by(n));
        async move { client.place(&order).await.status }
    }))
    .await;
    assert_eq!(answers.iter().filter(|status| **status == 202).count(), 60);
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 60);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM inventory_log").await, 61);
    shop.assert_whole(60).await;
}

#[tokio::test]
async fn r_pipeshub_3037_a_poison_entry_dies_alone_and_its_unit_goes_back_once() {
    let shop = Shop::selling(50).await;
    shop.sql.poison().await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    let mut poison = String::new();
    for n in 0..9 {
        let user = if n == 4 { "poison".to_owned() } else { n.to_string() };
        let id = origin.client.place(&Order::by(&user)).await.order_id();
        if n == 4 {
            poison = id;
        }
    }
    lock.release().await;
    until("the poison is dead", || async { shop.sql.number("SELECT COUNT(*) FROM dead_letters").await == 1 }).await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 8);
    assert_eq!(shop.sql.number("SELECT attempts FROM dead_letters").await, 5);
    assert_eq!(shop.sql.texts("SELECT order_id FROM dead_letters").await, [poison.clone()]);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM settle_attempts").await, 0);
    until("its unit is back", || async { shop.stock().await == 42 }).await;
    shop.assert_whole(50).await;
    let seen = origin.client.get_as("poison", &format!("/v1/orders/{poison}"), None).await.json();
    assert_eq!(seen["status"], "failed");
}

#[tokio::test]
async fn a_second_order_for_a_dead_operation_is_given_back() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let order = Order::by("1");
    shop.sql
        .run(&format!(
            "INSERT INTO dead_letters VALUES ('{}', 0, '1-0', '0-01JDZV6Q8W3M5K9T2R4X7Y1C0B', '{{}}', 'x', 5, 1, NULL, NULL)",
            order.op.id
        ))
        .await;
    let id = origin.client.place(&order).await.order_id();
    shop.settled().await;
    until("its unit is back", || async { shop.stock().await == 50 }).await;
    assert_eq!(origin.client.get_as("1", &format!("/v1/orders/{id}"), None).await.json()["status"], "failed");
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn each_partition_is_settled_by_itself() {
    let shop = Shop::new().await;
    let skus: Vec<String> = (0..6).map(|n| format!("s{n}")).collect();
    for sku in &skus {
        let line = format!("sale create --sku {sku} --title T --price 1 --stock 5 --partitions 4");
        assert!(shop.tool(&line).await.status.success());
    }
    let mut config = shop.config();
    config.keyspace = sluice::script::keys::Keyspace::new("sl1", 4);
    let origin = shop.origin_with(config).await;
    for sku in &skus {
        let id = origin.client.place(&Order { sku: sku.clone(), ..Order::by("1") }).await.order_id();
        until("it is settled", || async {
            let seen = origin.client.get_as("1", &format!("/v1/orders/{id}"), None).await.json();
            seen["status"] == "pending_payment"
        })
        .await;
        shop.sql.assert_ledger_is_whole(sku).await;
    }
    assert!(shop.sql.number("SELECT COUNT(*) FROM partitions WHERE seq > 0").await > 1);
}

#[tokio::test]
async fn an_entry_that_nobody_can_read_is_a_dead_letter_and_holds_up_nothing() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    shop.redis.ask::<String>("XADD sl1:{p0}:orders * order nonsense req x").await;
    origin.client.place(&Order::by("1")).await.order_id();
    until("it is dead", || async { shop.sql.number("SELECT COUNT(*) FROM dead_letters").await == 1 }).await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 1);
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn the_stream_is_trimmed_up_to_what_is_acknowledged_and_not_further() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    for n in 0..20 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    let length = async || shop.redis.ask::<i64>("XLEN sl1:{p0}:orders").await;
    shop.settled().await;
    until("it is trimmed", || async { length().await <= 1 }).await;
    // Another group that has read nothing holds everything back.
    shop.redis.ask::<()>("XGROUP CREATE sl1:{p0}:orders audit $").await;
    for n in 20..25 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    shop.settled().await;
    let trims = async || {
        let stats: String = shop.redis.ask("INFO commandstats").await;
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_xtrim:calls=")).unwrap().to_owned();
        calls.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let before = trims().await;
    until("it was trimmed again", || async { trims().await >= before + 2 }).await;
    assert!(length().await >= 5);
    shop.redis.ask::<redis::Value>("XREADGROUP GROUP audit me STREAMS sl1:{p0}:orders >").await;
    let (_, first, ..): (i64, String, redis::Value, redis::Value) =
        shop.redis.ask("XPENDING sl1:{p0}:orders audit").await;
    shop.redis.ask::<()>(&format!("XACK sl1:{{p0}}:orders audit {first}")).await;
    until("one more may go", || async { length().await == 4 }).await;
}

#[tokio::test]
async fn the_epoch_of_a_recovered_partition_keeps_old_batches_out() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    origin.client.place(&Order::by("1")).await.order_id();
    until("it is in hand", || async {
        let pending: (i64, redis::Value, redis::Value, redis::Value) =
            shop.redis.ask("XPENDING sl1:{p0}:orders settle").await;
        pending.0 == 1
    })
    .await;
    // A recovery comes in between: the batch is given up, and read again under the new epoch.
    lock.commit("UPDATE partitions SET epoch = epoch + 1").await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 1);
    assert_eq!(shop.sql.number("SELECT epoch FROM partitions WHERE id = 0").await, 1);
    assert_eq!(shop.sql.number("SELECT seq FROM partitions WHERE id = 0").await, 1);
    shop.assert_whole(50).await;
}
