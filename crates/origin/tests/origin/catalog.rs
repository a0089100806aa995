//! Products as everybody reads them.

use serde_json::{Value, json};
use std::collections::HashSet;

use crate::support::client::Order;
use crate::support::products::{SQL_READS, ask_for};
use crate::support::{Shop, until};

#[tokio::test]
async fn a_thousand_misses_at_once_in_two_origins_cost_one_question_to_sql() {
    let shop = Shop::new().await;
    shop.products(0..3).await;
    let (first, second) = (shop.origin_with(shop.patient()).await, shop.origin_with(shop.patient()).await);
    first.hears().await;
    second.hears().await;
    let before = first.told(SQL_READS).await + second.told(SQL_READS).await;
    let rebuilds = "sluice_origin_catalog_rebuilds_total";
    let rebuilt = first.told(rebuilds).await + second.told(rebuilds).await;
    let asks = |client| ask_for(client, std::iter::repeat_n("p1".to_owned(), 500), 500);
    let (one, other) = tokio::join!(asks(&first.client), asks(&second.client));
    for answer in one.iter().chain(&other) {
        assert_eq!((answer.status, answer.json()["title"].as_str()), (200, Some("Product 1")), "{answer:?}");
    }
    assert_eq!(first.told(SQL_READS).await + second.told(SQL_READS).await - before, 1);
    assert_eq!(first.told(rebuilds).await + second.told(rebuilds).await - rebuilt, 1);
    assert!(first.told("sluice_origin_catalog_waits_total").await > 0);
    assert!(first.told("sluice_origin_catalog_answers_total{from=\"local\"}").await > 0);
}

#[tokio::test]
async fn ten_thousand_ids_of_no_product_cost_sql_no_more_than_the_filters_error() {
    let shop = Shop::new().await;
    shop.products(0..1_000).await;
    let origin = shop.origin_with(shop.patient()).await;
    origin.hears().await;
    let (refused, unknown) = ("sluice_origin_catalog_refused_total{by=\"filter\"}", 10_000);
    let refusals = origin.told(refused).await;
    let reads = origin.told(SQL_READS).await;
    let answers = ask_for(&origin.client, (0..unknown).map(|_| format!("x{}", ulid::Ulid::generate())), 64).await;
    assert!(answers.iter().all(|answer| (answer.status, answer.code()) == (404, "product_unknown".into())));
    let (reads, refusals) = (origin.told(SQL_READS).await - reads, origin.told(refused).await - refusals);
    assert_eq!(reads + refusals, unknown, "each is refused, or costs one question");
    // One is to be expected by the filter's error rate, with a million ids; more than ten never.
    assert!(reads <= 10, "{reads}");
    // And every id that there is passes.
    let answers = ask_for(&origin.client, (0..1_000).map(|n| format!("p{n}")), 64).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
}

#[tokio::test]
async fn what_is_no_id_is_refused_before_anything_is_asked_or_written() {
    let shop = Shop::new().await;
    let origin = shop.origin_with(shop.patient()).await;
    for bad in ["%20", "a%20b", "..%2e", "%7Bp0%7D", "%E5%95%86", "%00", &"x".repeat(65)] {
        let answer = origin.client.get(&format!("/v1/products/{bad}")).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_sku".into()), "{bad}");
    }
    let fine = json!({"id": "p", "title": "P", "price": 1});
    let with = |field: &str, value: Value| {
        let mut body = fine.clone();
        body[field] = value;
        body
    };
    for (path, body, want) in [
        ("/admin/products", with("id", json!("")), 400),
        ("/admin/products", with("id", json!("a b")), 400),
        ("/admin/products", with("id", json!("x".repeat(65))), 400),
        ("/admin/products", with("title", json!(" ")), 400),
        ("/admin/products", with("price", json!(-1)), 400),
        ("/admin/products", with("price", json!(1e15)), 400),
        ("/admin/products", with("currency", json!("cny")), 400),
        ("/admin/products", with("class", json!("warm")), 400),
        ("/admin/products", with("stock", json!(5)), 400),
        ("/admin/products", with("description", json!("x".repeat(2_001))), 400),
        ("/admin/products/p/update", json!({}), 400),
        ("/admin/products/a%20b/update", json!({"price": 1}), 400),
        ("/admin/products/p/update", json!({"price": 1}), 404),
    ] {
        let (status, told) = origin.operate("POST", path, body.clone()).await;
        assert_eq!((status, told["error"].is_string()), (want, true), "{path} {body}: {told}");
    }
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM products").await, 0);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM outbox").await, 0);
    assert_eq!(origin.told(SQL_READS).await, 0);
    for kind in ["product", "floor"] {
        assert_eq!(shop.redis.ask::<Vec<String>>(&format!("KEYS sl1:*{kind}*")).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_product_is_made_and_changed_by_tool_and_by_api_and_every_origin_hears_of_it() {
    let shop = Shop::new().await;
    let (first, second) = (shop.origin_with(shop.patient()).await, shop.origin_with(shop.patient()).await);
    first.hears().await;
    second.hears().await;
    assert_eq!(second.client.get("/v1/products/mug").await.status, 404);
    let (status, made) =
        first.operate("POST", "/admin/products", json!({"id": "mug", "title": "Mug", "price": 5})).await;
    assert_eq!((status, made["version"].as_u64(), made["class"].as_str()), (200, Some(1), Some("standard")), "{made}");
    assert_eq!(first.client.get("/v1/products/mug").await.json(), made, "at once where it was made");
    until("the other knows it", || async { second.client.get("/v1/products/mug").await.status == 200 }).await;
    let (status, again) =
        second.operate("POST", "/admin/products", json!({"id": "mug", "title": "Cup", "price": 6})).await;
    assert_eq!((status, again["error"].as_str().unwrap().contains("already")), (409, true));

    let done = shop.tool("product create --id cup --title Cup --price 7 --class hot --json").await;
    assert!(done.status.success(), "{done:?}");
    for origin in [&first, &second] {
        until("what the tool made is known", || async { origin.client.get("/v1/products/cup").await.status == 200 })
            .await;
    }
    assert!(shop.tool("product update cup --price 8 --title Bowl").await.status.success());
    for origin in [&first, &second] {
        until("what the tool changed is seen", || async {
            origin.client.get("/v1/products/cup").await.json()["price"] == 8
        })
        .await;
    }
    let (_, listed) = first.operate("GET", "/admin/products?after=cup&limit=5", Value::Null).await;
    assert_eq!(listed, json!([made]));
    let (_, cup) = first.operate("GET", "/admin/products/cup", Value::Null).await;
    assert_eq!(
        (cup["title"].as_str(), cup["version"].as_u64(), cup["class"].as_str()),
        (Some("Bowl"), Some(2), Some("hot"))
    );
    let shown = shop.tool("product show cup --json").await;
    assert_eq!(serde_json::from_slice::<Value>(&shown.stdout).unwrap(), cup);
    let listed = String::from_utf8(shop.tool("product list").await.stdout).unwrap();
    assert!(listed.contains("cup") && listed.contains("8 CNY"), "{listed}");
    assert!(!shop.tool("product show none").await.status.success());
}

#[tokio::test]
async fn an_order_costs_the_sales_price_whatever_the_catalog_says() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin_with(shop.patient()).await;
    origin.operate("POST", "/admin/products", json!({"id": "demo", "title": "Demo", "price": 1, "class": "hot"})).await;
    assert_eq!(origin.client.get("/v1/products/demo").await.json()["price"], 1);
    let id = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;
    let order = origin.client.get_as("1", &format!("/v1/orders/{id}"), None).await.json();
    assert_eq!(order["amount"], 1999, "{order}");
    // Nor does it tell stock.
    assert_eq!(origin.client.get("/v1/products/demo").await.json().get("stock"), None);
}

#[tokio::test]
async fn that_there_is_no_product_is_remembered_for_a_minute_and_no_longer() {
    let shop = Shop::new().await;
    shop.products(0..1).await;
    let (first, second) = (shop.origin_with(shop.patient()).await, shop.origin_with(shop.patient()).await);
    first.hears().await;
    second.hears().await;
    let before = first.told(SQL_READS).await + second.told(SQL_READS).await;
    // The filters know the id, and SQL does not any more: as an id that passes the filter by its error.
    shop.sql.run("DELETE FROM products").await;
    for origin in [&first, &second] {
        for answer in ask_for(&origin.client, std::iter::repeat_n("p0".to_owned(), 20), 20).await {
            assert_eq!((answer.status, answer.code()), (404, "product_unknown".into()));
        }
    }
    assert_eq!(first.told(SQL_READS).await + second.told(SQL_READS).await - before, 1);
    let ttl: i64 = shop.redis.ask("PTTL sl1:{p0}:product:p0").await;
    assert!((1..=60_000).contains(&ttl), "{ttl}");
}

#[tokio::test]
async fn after_its_time_a_hot_product_is_told_while_one_reads_it_again_and_another_is_read_first() {
    let shop = Shop::new().await;
    shop.products(0..2).await;
    shop.sql.run("UPDATE products SET class = 'hot' WHERE id = 'p0'").await;
    let origin = shop.origin_with(shop.patient()).await;
    origin.hears().await;
    let before = origin.told(SQL_READS).await;
    for (id, class) in [("p0", "hot"), ("p1", "standard")] {
        let product = json!({"id": id, "title": "old", "description": "", "price": 9, "currency": "CNY",
            "class": class, "version": 1, "updated_at": 0});
        let entry = json!({"product": product, "until": 1}).to_string();
        shop.redis.ask_with::<()>(&["SET", &format!("sl1:{{p0}}:product:{id}"), &entry, "PX", "600000"]).await;
    }
    assert_eq!(origin.client.get("/v1/products/p0").await.json()["title"], "old");
    assert_eq!(origin.client.get("/v1/products/p1").await.json()["title"], "Product 1");
    until("it was read again", || async {
        shop.redis.ask::<String>("GET sl1:{p0}:product:p0").await.contains("Product 0")
    })
    .await;
    assert_eq!(origin.told(SQL_READS).await - before, 2);
}

#[tokio::test]
async fn a_hundred_thousand_entries_end_spread_over_five_minutes() {
    let shop = Shop::new().await;
    shop.products(0..100_000).await;
    let done = shop.tool("product warm --json").await;
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "{\"filled\":100000}", "{done:?}");
    let client = redis::Client::open(shop.redis.url.as_str()).unwrap();
    let connection = &mut client.get_multiplexed_async_connection().await.unwrap();
    // The end of each, so that it does not matter when it is asked for.
    let mut ends: Vec<i64> = Vec::new();
    for first in (0..100_000).step_by(1_000) {
        let mut all = redis::pipe();
        for n in first..first + 1_000 {
            all.cmd("PEXPIRETIME").arg(format!("sl1:{{p0}}:product:p{n}"));
        }
        ends.extend::<Vec<i64>>(all.query_async(connection).await.unwrap());
    }
    let (now, _): (i64, i64) = shop.redis.ask("TIME").await;
    assert!(ends.iter().all(|end| *end > now * 1_000 + 20 * 60_000 && *end <= now * 1_000 + 35 * 60_000 + 1_000));
    ends.sort_unstable();
    // They were written over a while, which spreads them more than the jitter alone does.
    assert!(ends[99_999] - ends[0] >= 295_000, "{}", ends[99_999] - ends[0]);
    let fullest = ends.chunk_by(|a, b| a / 1_000 == b / 1_000).map(<[i64]>::len).max().unwrap();
    // 333 in a second on average: three times that is more than chance ever does.
    assert!(fullest < 1_000, "{fullest} in one second");
    let distinct: HashSet<i64> = ends.iter().map(|end| end / 1_000).collect();
    assert!(distinct.len() >= 295, "{}", distinct.len());
    let quarters: Vec<_> = [25_000, 50_000, 75_000].map(|n| ends[n] - ends[0]).to_vec();
    assert!(quarters.windows(2).all(|pair| pair[1] - pair[0] > 30_000), "{quarters:?}");
}
