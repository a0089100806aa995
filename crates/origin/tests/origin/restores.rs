//! Stock that goes back to Redis, and stock that must not.

use crate::support::client::Order;
use crate::support::{Shop, until};

#[tokio::test]
async fn r_miaosha_shop_3_a_buyer_that_sql_knows_already_fails_and_the_unit_goes_back_once() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let first = origin.client.place(&Order::by("42")).await.order_id();
    shop.settled().await;
    // Redis forgets the buyer; SQL does not.
    shop.redis.ask::<()>("DEL sl1:{p0}:buyers:demo").await;
    let second = origin.client.place(&Order::by("42")).await.order_id();
    shop.settled().await;
    until("the unit is back", || async { shop.stock().await == 4 }).await;
    assert_eq!(shop.orders("failed").await, 1);
    let path = |id: &str| format!("/v1/orders/{id}");
    assert_eq!(origin.client.get_as("42", &path(&second), None).await.json()["status"], "failed");
    assert_eq!(origin.client.get_as("42", &path(&first), None).await.json()["status"], "pending_payment");
    assert_eq!(shop.redis.ask::<i64>("HEXISTS sl1:{p0}:buyers:demo 42").await, 0);
    until("the outbox is empty", || async {
        shop.sql.number("SELECT COUNT(*) FROM outbox WHERE done_at IS NULL").await == 0
    })
    .await;
    // The task again, as after a crash before it was marked: the marker keeps the stock.
    shop.sql.run("UPDATE outbox SET done_at = NULL").await;
    until("the task is done again", || async {
        shop.sql.number("SELECT COUNT(*) FROM outbox WHERE done_at IS NULL").await == 0
    })
    .await;
    let marker = format!("sl1:{{p0}}:restored:{second}");
    let ttl: i64 = shop.redis.ask(&format!("PTTL {marker}")).await;
    assert!((1..=7 * 24 * 3600 * 1000).contains(&ttl), "{ttl}");
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_second_order_for_one_operation_is_given_back_and_points_to_the_first() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --per-user 5").await;
    let origin = shop.origin().await;
    let order = Order::by("42");
    let first = origin.client.place(&order).await.order_id();
    shop.settled().await;
    // Redis forgets the operation; SQL does not.
    shop.redis.ask::<()>(&format!("DEL sl1:{{p0}}:req:{}", order.op.id)).await;
    let second = origin.client.place(&order).await.order_id();
    assert_ne!(first, second);
    shop.settled().await;
    until("the unit is back", || async { shop.stock().await == 4 }).await;
    let seen = origin.client.get_as("42", &format!("/v1/orders/{second}"), None).await.json();
    assert_eq!((seen["order_id"].as_str(), seen["status"].as_str()), (Some(first.as_str()), Some("pending_payment")));
    let held: String = shop.redis.ask("HGET sl1:{p0}:buyers:demo 42").await;
    assert_eq!(held, format!("{first}:1"), "only its own entry was taken out");
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn what_sql_has_no_stock_for_fails_pauses_the_sale_and_is_not_given_back() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    shop.sql.run("UPDATE inventory SET stock = 1").await;
    let lock = shop.sql.lock().await;
    let ids =
        [origin.client.place(&Order::by("1")).await.order_id(), origin.client.place(&Order::by("2")).await.order_id()];
    lock.release().await;
    shop.settled().await;
    assert_eq!((shop.orders("pending_payment").await, shop.orders("failed").await), (1, 1));
    assert_eq!(shop.sql.texts("SELECT id FROM orders WHERE status = 'pending_payment'").await, [ids[0].clone()]);
    assert_eq!(shop.sql.number("SELECT stock FROM inventory").await, 0);
    assert_eq!(shop.stock().await, 3, "not given back");
    until("Redis knows that it is paused", || async {
        // Until it does, it goes on selling what SQL does not have.
        let answer = origin.client.place(&Order::by("3")).await;
        answer.status != 202 && answer.code() == "sale_paused"
    })
    .await;
}

#[tokio::test]
async fn r_springboot_seckill_37_live_stock_is_never_written_over() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    // As if the process that put it into Redis had died before it could say so in SQL.
    shop.sql.run("UPDATE sales SET status = 'scheduled'").await;
    shop.sql.run("UPDATE inventory SET stock = 77").await;
    until("it is open again", || async {
        shop.sql.number("SELECT COUNT(*) FROM sales WHERE status = 'open'").await == 1
    })
    .await;
    assert_eq!(shop.stock().await, 4);
    // And a sale that was open is not put back when Redis lost it.
    shop.redis.ask::<()>("DEL sl1:{p0}:stock:demo").await;
    let again = shop.tool("sale create --sku demo --title Demo --price 1 --stock 9 --if-missing").await;
    assert!(again.status.success(), "{again:?}");
    assert_eq!(shop.redis.ask::<i64>("EXISTS sl1:{p0}:stock:demo").await, 0);
}
