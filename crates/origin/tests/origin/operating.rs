//! Operators' tools on a sale that sells.

use crate::support::client::Order;
use crate::support::gateway::{Callback, SECRET};
use crate::support::{Shop, until};
use sluice_origin::config::Secrets;

fn json(output: &std::process::Output) -> serde_json::Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

#[tokio::test]
async fn a_restocked_sale_sells_what_was_added_and_no_more() {
    let shop = Shop::selling(2).await;
    let origin = shop.origin().await;
    for n in 0..2 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    assert_eq!(origin.client.place(&Order::by(2)).await.code(), "sold_out");
    let done = json(&shop.tool("sale restock demo --units 3 --remark found-a-box --json").await);
    assert_eq!((done["initial"].as_i64(), done["redis_stock"].as_i64()), (Some(5), Some(3)));
    shop.quiet().await;
    assert_eq!(shop.stock().await, 3, "the outbox's task is the same one");
    for n in 2..5 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    assert_eq!(origin.client.place(&Order::by(5)).await.code(), "sold_out");
    shop.quiet().await;
    assert_eq!(shop.sql.texts("SELECT remark FROM inventory_log WHERE kind = 'restock'").await, ["found-a-box"]);
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn r_mall_376_a_restock_while_redis_is_away_arrives_later_and_once() {
    let shop = Shop::selling(2).await;
    let origin = shop.origin().await;
    shop.redis.signal("-STOP");
    let away = shop.tool("sale restock demo --units 3").await;
    assert_eq!(away.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&away.stderr).contains("Redis will follow"), "{away:?}");
    shop.redis.signal("-CONT");
    until("it has arrived", || async { shop.stock().await == 5 }).await;
    origin.client.place(&Order::by(1)).await.order_id();
    shop.quiet().await;
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_closed_sale_sells_nothing_takes_back_what_is_cancelled_and_is_forgotten_later() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let id = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    let closed = json(&shop.tool("sale close demo --json").await);
    assert_eq!((closed["state"].as_str(), closed["status"].as_str()), (Some("ended"), Some("closed")));
    assert_eq!(json(&shop.tool("sale close demo --json").await)["status"], "closed");
    assert_eq!(origin.client.place(&Order::by("2")).await.code(), "sale_ended");
    for key in ["sale", "stock", "buyers"] {
        let ttl: i64 = shop.redis.ask(&format!("PTTL sl1:{{p0}}:{key}:demo")).await;
        assert!((1..=7 * 24 * 3600 * 1000).contains(&ttl), "{key}: {ttl}");
    }
    assert_eq!(origin.client.cancel("1", &id).await.status, 200);
    shop.quiet().await;
    shop.assert_whole(5).await;
    // Once Redis has forgotten it, nothing is left to be told.
    for line in ["sale resume demo", "sale restock demo --units 1", "sale reschedule demo --price 1"] {
        assert_eq!(shop.tool(line).await.status.code(), Some(1), "{line}");
    }
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_sale_that_is_closed_before_it_starts_has_ended() {
    let shop = Shop::new().await;
    shop.create("--stock 5 --starts-at +1h").await;
    let origin = shop.origin().await;
    assert_eq!(origin.client.place(&Order::by("1")).await.code(), "sale_not_started");
    json(&shop.tool("sale close demo --json").await);
    assert_eq!(origin.client.place(&Order::by("1")).await.code(), "sale_ended");
}

#[tokio::test]
async fn terms_change_at_once_and_accepted_orders_keep_their_price() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let first = origin.client.place(&Order::by("1")).await.order_id();
    let changed = json(&shop.tool("sale reschedule demo --price 2500 --ends-at +2h --per-user 2 --json").await);
    assert_eq!((changed["price"].as_u64(), changed["per_user"].as_u64()), (Some(2500), Some(2)));
    let second = origin.client.place(&Order::by("2").units(2)).await.order_id();
    shop.settled().await;
    let amount = async |user: &str, id: &str| {
        origin.client.get_as(user, &format!("/v1/orders/{id}"), None).await.json()["amount"].as_i64().unwrap()
    };
    assert_eq!((amount("1", &first).await, amount("2", &second).await), (1999, 5000));
    json(&shop.tool("sale reschedule demo --starts-at +1h --ends-at +2h --json").await);
    assert_eq!(origin.client.place(&Order::by("3")).await.code(), "sale_not_started");
    json(&shop.tool("sale reschedule demo --starts-at now --json").await);
    origin.client.place(&Order::by("3")).await.order_id();
    assert_eq!(shop.tool("sale reschedule demo --starts-at +9h --ends-at 1").await.status.code(), Some(1));
    shop.quiet().await;
    shop.assert_whole(5).await;
}

#[tokio::test]
async fn a_dead_letter_is_retried_as_one_new_order_or_dropped() {
    let shop = Shop::selling(50).await;
    shop.sql.poison().await;
    let origin = shop.origin().await;
    origin.client.place(&Order::by("poison")).await.order_id();
    shop.redis.ask::<String>("XADD sl1:{p0}:orders * order nonsense req x").await;
    until("both are dead", || async { shop.sql.number("SELECT COUNT(*) FROM dead_letters").await == 2 }).await;
    shop.quiet().await;
    let letters = json(&shop.tool("dead-letter list --json").await);
    assert_eq!(letters.as_array().map(Vec::len), Some(2));
    assert!(!letters.to_string().contains("user"), "{letters}");
    let id = |readable: bool| {
        let mut all = letters.as_array().unwrap().iter();
        let letter = all.find(|letter| letter["order_id"].is_string() == readable).unwrap();
        letter["request_id"].as_str().unwrap().to_owned()
    };
    let (poison, nonsense) = (id(true), id(false));
    assert_eq!(shop.tool(&format!("dead-letter retry {nonsense}")).await.status.code(), Some(1));
    assert!(json(&shop.tool(&format!("dead-letter drop {nonsense} --json")).await)["closed_at"].is_i64());

    shop.sql.unpoison().await;
    let retried = json(&shop.tool(&format!("dead-letter retry {poison} --json")).await);
    let again = json(&shop.tool(&format!("dead-letter retry {poison} --json")).await);
    assert_eq!(retried, again);
    shop.quiet().await;
    assert_eq!(shop.sql.texts("SELECT id FROM orders").await, [retried["retried_as"].as_str().unwrap()]);
    assert_eq!(shop.tool(&format!("dead-letter drop {poison}")).await.status.code(), Some(1));
    assert_eq!(json(&shop.tool("dead-letter list --json").await), serde_json::json!([]));
    assert_eq!(json(&shop.tool("dead-letter list --all --json").await).as_array().map(Vec::len), Some(2));
    assert!(String::from_utf8_lossy(&shop.tool("dead-letter list").await.stdout).contains("no dead letters"));
    shop.assert_whole(50).await;
}

#[tokio::test]
async fn an_order_is_shown_with_its_ledger_and_its_payments() {
    let shop = Shop::selling(5).await;
    let mut config = shop.config();
    config.payment_secrets = Some(Secrets::parse(SECRET).unwrap());
    let origin = shop.origin_with(config).await;
    let id = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    assert_eq!(Callback::paid("P1", &id).deliver(&origin.client.base).await.0, 200);
    let shown = json(&shop.tool(&format!("order show {id} --json")).await);
    assert_eq!((shown["status"].as_str(), shown["ledger"][0][1].as_i64()), (Some("paid"), Some(-1)));
    assert_eq!(shown["payments"], serde_json::json!([["P1", "applied"]]));
    let table = shop.tool(&format!("order show {id}")).await;
    assert!(String::from_utf8_lossy(&table.stdout).contains("P1 applied"), "{table:?}");
    assert_eq!(shop.tool("order show 0-x").await.status.code(), Some(1));
}

#[tokio::test]
async fn a_ledger_that_somebody_changed_is_found_by_its_row() {
    let shop = Shop::selling(50).await;
    let origin = shop.origin().await;
    for n in 0..10 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    shop.settled().await;
    let whole = json(&shop.tool("ledger verify --json").await);
    assert_eq!((whole["whole"].as_bool(), whole["rows"].as_u64()), (Some(true), Some(11)));
    assert_eq!(shop.tool("ledger verify demo").await.status.code(), Some(0));
    let number = shop.sql.texts("SELECT log_no FROM inventory_log ORDER BY id").await[5].clone();
    shop.sql.run(&format!("DELETE FROM inventory_log WHERE log_no = '{number}'")).await;
    let next = shop.sql.texts("SELECT log_no FROM inventory_log ORDER BY id").await[5].clone();
    let broken = shop.tool("ledger verify --json").await;
    assert_eq!(broken.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_slice(&broken.stdout).unwrap();
    assert_eq!((told["whole"].as_bool(), told["breaks"][0]["log_no"].as_str()), (Some(false), Some(next.as_str())));
    shop.sql.run("UPDATE inventory SET stock = stock + 1").await;
    let told: serde_json::Value = serde_json::from_slice(&shop.tool("ledger verify --json").await.stdout).unwrap();
    assert_eq!(told["breaks"].as_array().map(Vec::len), Some(2), "{told}");
}
