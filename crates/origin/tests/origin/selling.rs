//! Who gets an order, and who does not.

use std::collections::HashSet;

use futures_util::future::join_all;

use crate::support::client::{Answer, Order, now};
use crate::support::{Shop, until};

#[tokio::test(flavor = "multi_thread")]
async fn r_miaosha_145_of_a_hundred_at_once_exactly_ten_buy_the_last_ten() {
    let shop = Shop::selling(10).await;
    let origin = shop.origin().await;
    let answers = join_all((0..100).map(|n| {
        let client = origin.client.clone();
        async move { client.place(&Order::by(n)).await }
    }))
    .await;
    let ids: HashSet<String> = answers.iter().filter(|a| a.status == 202).map(Answer::order_id).collect();
    assert_eq!(ids.len(), 10);
    let refused: Vec<_> = answers.iter().filter(|a| a.status != 202).map(Answer::refusal).collect();
    assert!(refused.iter().all(|r| *r == (409, "sold_out".into(), Some("passing"))), "{refused:?}");
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 10);
    assert_eq!(shop.stock().await, 0);
    shop.assert_whole(10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_springboot_seckill_35_one_operation_sent_fifty_times_costs_one_unit() {
    let shop = Shop::selling(100).await;
    let origin = shop.origin().await;
    let order = Order::by("42");
    let answers = join_all((0..50).map(|_| origin.client.place(&order))).await;
    let ids: HashSet<String> = answers.iter().map(Answer::order_id).collect();
    assert_eq!(ids.len(), 1, "one order id in every answer");
    assert!(answers.iter().all(|a| a.body == answers[0].body && a.header("location") == answers[0].header("location")));
    shop.settled().await;
    assert_eq!(shop.stock().await, 99);
    shop.assert_whole(100).await;
}

#[tokio::test]
async fn r_hfbin_14_a_second_click_before_the_order_is_in_sql_gets_the_same_order() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let lock = shop.sql.lock().await;
    let order = Order::by("42");
    let id = origin.client.place(&order).await.order_id();
    assert_eq!(origin.client.place(&order).await.order_id(), id);
    let other = origin.client.place(&Order::by("42")).await;
    assert_eq!(other.refusal(), (409, "already_bought".into(), Some("final")));
    assert_eq!(other.json()["order_id"], id.as_str());
    lock.release().await;
    shop.settled().await;
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn r_spikesystem_14_more_units_than_are_left_are_refused_and_fewer_are_sold() {
    let shop = Shop::new().await;
    shop.create("--stock 2 --per-user 3").await;
    let origin = shop.origin().await;
    let too_many = origin.client.place(&Order::by("1").units(3)).await;
    assert_eq!(too_many.refusal(), (409, "sold_out".into(), Some("passing")));
    assert_eq!(shop.stock().await, 2);
    origin.client.place(&Order::by("1").units(2)).await.order_id();
    assert_eq!(origin.client.place(&Order::by("2")).await.code(), "sold_out");
    shop.settled().await;
    shop.assert_whole(2).await;
}

#[tokio::test]
async fn a_common_script_stock_nine_does_not_serve_ten() {
    // E42: as strings, "9" is greater than "10".
    let shop = Shop::new().await;
    shop.create("--stock 9 --per-user 10").await;
    let origin = shop.origin().await;
    assert_eq!(origin.client.place(&Order::by("1").units(10)).await.code(), "sold_out");
    assert_eq!(shop.stock().await, 9);
    origin.client.place(&Order::by("1").units(9)).await.order_id();
    assert_eq!(shop.stock().await, 0);
}

#[tokio::test]
async fn a_quota_counts_units_over_all_orders_of_a_user() {
    let shop = Shop::new().await;
    shop.create("--stock 100 --per-user 3").await;
    let origin = shop.origin().await;
    let over = origin.client.place(&Order::by("1").units(4)).await;
    assert_eq!(over.refusal(), (400, "invalid_quantity".into(), Some("final")));
    let first = origin.client.place(&Order::by("1").units(2)).await.order_id();
    let third = origin.client.place(&Order::by("1").units(2)).await;
    assert_eq!((third.code(), third.json()["order_id"].as_str()), ("already_bought".into(), Some(first.as_str())));
    origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    // Both orders stand in SQL: the slot of a buyer is only used where the quota is one.
    assert_eq!(shop.orders("pending_payment").await, 2);
    shop.assert_whole(100).await;
}

#[tokio::test]
async fn r_newbee_mall_97_before_the_start_and_from_the_end_on_nothing_is_taken() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --starts-at +1h --ends-at +1h").await;
    let origin = shop.origin().await;
    let early = origin.client.place(&Order::by("1")).await;
    assert_eq!(early.refusal(), (403, "sale_not_started".into(), Some("passing")));
    let wait: u64 = early.header("retry-after").unwrap().parse().unwrap();
    assert!((3590..=3600).contains(&wait), "{wait}");
    // Both edges by Redis' clock: it starts in this very millisecond or before, and ends in it or before.
    let sale = "sl1:{p0}:sale:demo";
    let start = now().0 - 1;
    shop.redis.ask::<()>(&format!("HSET {sale} starts_at {start} ends_at {}", start + 3_600_000)).await;
    origin.client.place(&Order::by("1")).await.order_id();
    shop.redis.ask::<()>(&format!("HSET {sale} ends_at {start}")).await;
    let late = origin.client.place(&Order::by("2")).await;
    assert_eq!(late.refusal(), (403, "sale_ended".into(), Some("final")));
    assert_eq!(shop.stock().await, 4);
}

#[tokio::test]
async fn a_paused_sale_and_one_that_is_not_in_redis_refuse_for_now() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    assert!(shop.tool("sale pause demo").await.status.success());
    let paused = origin.client.place(&Order::by("1")).await;
    assert_eq!(paused.refusal(), (503, "sale_paused".into(), Some("passing")));
    assert!(paused.header("retry-after").is_some());
    assert!(shop.tool("sale resume demo").await.status.success());
    origin.client.place(&Order::by("1")).await.order_id();
    shop.redis.ask::<()>("DEL sl1:{p0}:stock:demo").await;
    let missing = origin.client.place(&Order::by("2")).await;
    assert_eq!(missing.refusal(), (503, "sale_unavailable".into(), Some("passing")), "not \"sold out\"");
}

#[tokio::test]
async fn a_deduct_that_comes_too_late_does_nothing_unless_the_order_exists() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let late = origin.client.place(&Order::by("1").not_after(1)).await;
    assert_eq!(late.refusal(), (503, "origin_timeout".into(), None), "no mark: it is for the retry to find out");
    assert_eq!(late.json()["status"], 503);
    assert!(late.header("retry-after").is_some());
    assert_eq!(shop.stock().await, 5);
    assert_eq!(shop.redis.ask::<i64>("EXISTS sl1:{p0}:buyers:demo").await, 0);

    let order = Order::by("1");
    let id = origin.client.place(&order).await.order_id();
    assert_eq!(origin.client.place(&order.not_after(1)).await.order_id(), id);
}

#[tokio::test]
async fn a_redis_that_lost_its_tail_sells_nothing() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    shop.redis.ask::<()>("SET sl1:{p0}:seq 0").await;
    let rolled_back = origin.client.place(&Order::by("2")).await;
    assert_eq!(rolled_back.refusal(), (503, "sale_unavailable".into(), None));
    // A new process knows it from SQL.
    origin.stop().await;
    let origin = shop.origin().await;
    assert_eq!(origin.client.place(&Order::by("2")).await.refusal(), (503, "sale_unavailable".into(), None));
    assert_eq!(shop.stock().await, 4);
}

#[tokio::test]
async fn every_key_has_the_life_that_it_should_have() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let order = Order::by("1");
    let id = origin.client.place(&order).await.order_id();
    shop.settled().await;
    until("the order's TTL is set", || async {
        shop.redis.ask::<i64>(&format!("PTTL sl1:{{p0}}:order:{id}")).await > 0
    })
    .await;
    let day = 24 * 3600 * 1000;
    let keys: Vec<String> = shop.redis.ask("KEYS sl1:{p0}:*").await;
    assert_eq!(keys.len(), 8, "{keys:?}");
    for key in keys {
        let ttl: i64 = shop.redis.ask(&format!("PTTL {key}")).await;
        let expires = key.contains(":req:") || key.contains(":order:");
        let right = if expires { (1..=day).contains(&ttl) } else { ttl == -1 };
        assert!(right, "{key}: {ttl}");
    }
}

#[tokio::test]
async fn users_of_any_name_are_told_apart() {
    let shop = Shop::selling(100).await;
    let origin = shop.origin().await;
    // The databases differ in what they take as equal: letters of another case, accents, blanks at the end.
    let users = ["a*", "{u}", "昵称", "a:b", "a,b", "a", "A", "a ", "%1", "\\1", " "];
    for user in users {
        origin.client.place(&Order::by(user)).await.order_id();
        assert_eq!(origin.client.place(&Order::by(user)).await.code(), "already_bought", "{user:?}");
    }
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 11);
    shop.assert_whole(100).await;
    for user in ["a", "A", "a "] {
        let mine = origin.client.get_as(user, "/v1/sales/demo/orders/mine", Some("demo")).await.json();
        assert_eq!(mine["orders"].as_array().map(Vec::len), Some(1), "{user:?}");
    }
}

#[tokio::test]
async fn scripts_that_redis_forgot_are_sent_again() {
    // ratelimit-js 122
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    for n in 0..10 {
        shop.redis.ask::<()>("SCRIPT FLUSH").await;
        origin.client.place(&Order::by(n)).await.order_id();
    }
    shop.settled().await;
    shop.assert_whole(50).await;
}
