//! All sales, and which sell best.

use serde_json::json;

use crate::support::client::Order;
use crate::support::{Shop, until};

#[tokio::test]
async fn sales_and_best_sellers_are_counted_in_redis_and_told_as_they_were_while_it_is_away() {
    let mut shop = Shop::new().await;
    for (sku, stock) in [("a", 10), ("b", 10), ("c", 10)] {
        let line = format!("sale create --sku {sku} --title {sku} --price 5 --stock {stock} --per-user 9");
        assert!(shop.tool(&line).await.status.success());
    }
    assert!(shop.tool("sale close c").await.status.success());
    let origin = shop.origin().await;
    let place = async |user: &str, sku: &str, units| {
        let order = Order { sku: sku.to_owned(), ..Order::by(user).units(units) };
        origin.client.place(&order).await.order_id()
    };
    place("1", "a", 2).await;
    place("2", "b", 3).await;
    until("both are counted", || async {
        let best = origin.client.get("/v1/best-sellers").await.json();
        let sold = |n: usize| (best["best_sellers"][n]["sku"].clone(), best["best_sellers"][n]["sold"].clone());
        best["current"] == true && sold(0) == (json!("b"), json!(3)) && sold(1) == (json!("a"), json!(2))
    })
    .await;
    let sales = origin.client.get("/v1/sales").await.json();
    assert_eq!(sales["sales"].as_array().map(Vec::len), Some(2), "a closed sale is not told: {sales}");
    assert!(sales["sales"].as_array().unwrap().iter().all(|sale| sale["state"] == "open" && sale["price"] == 5));
    let one = origin.client.get("/v1/best-sellers?limit=1").await.json();
    assert_eq!(one["best_sellers"].as_array().map(Vec::len), Some(1));

    shop.redis.kill();
    until("it says that it is of before", || async {
        let sales = origin.client.get("/v1/sales").await;
        assert_eq!(sales.status, 200, "{sales:?}");
        sales.json()["current"] == false
    })
    .await;
    let best = origin.client.get("/v1/best-sellers").await.json();
    assert_eq!(
        (best["best_sellers"][0]["sku"].as_str(), best["best_sellers"][0]["sold"].as_u64()),
        (Some("b"), Some(3))
    );
}
