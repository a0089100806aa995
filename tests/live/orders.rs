//! Orders from the token to SQL, through everything that there is.

use std::time::Duration;

use xtask::clock;
use xtask::stack::Sale;

use crate::shop::{Shop, order_id};
use crate::support::ttls;

#[tokio::test]
async fn an_order_goes_from_its_token_to_sql_and_its_owner_alone_can_see_it() {
    let shop = Shop::open(&[Sale::new("demo", 100).title("Lamp")]).await;
    let issued = shop.edge.issue("42", "demo").send().await;
    issued.is(200);
    let token = issued.json()["token"].as_str().unwrap().to_owned();
    let call = shop.edge.order("42", "demo", &token);
    let accepted = call.clone().send().await;
    let id = order_id(&accepted);
    assert_eq!(accepted.text(), format!(r#"{{"order_id":"{id}","status":"queued"}}"#));
    assert_eq!(accepted.header("location"), Some(format!("/v1/orders/{id}").as_str()));
    assert_eq!(accepted.header("content-type"), Some("application/json"));
    assert!(accepted.headers.keys().all(|name| !name.as_str().starts_with("sluice-")), "{accepted:?}");

    let mine = shop.status("42", &id).await;
    mine.is(200);
    let status = mine.json()["status"].as_str().unwrap().to_owned();
    assert!(matches!(status.as_str(), "queued" | "pending_payment"), "{status}");
    let row = shop.settled(1).await.remove(0);
    let deadline = clock::now() + Duration::from_secs(10);
    let settled = loop {
        let answer = shop.status("42", &id).await.json();
        if answer["status"] == "pending_payment" {
            break answer;
        }
        assert!(answer["status"] == "queued" && clock::now() < deadline, "{answer}");
        tokio::time::sleep(clock::POLL * 5).await;
    };
    assert_eq!(
        (&settled["order_id"], &settled["sku"], &settled["quantity"]),
        (&id.clone().into(), &"demo".into(), &1.into())
    );
    assert!(clock::unix_ms().abs_diff(settled["created_at"].as_u64().unwrap()) < 60_000);
    assert_eq!((row.id.as_str(), row.sku.as_str(), row.user_id.as_str()), (id.as_str(), "demo", "42"));
    assert_eq!((row.quantity, row.amount, row.status.as_str()), (1, 1999, "pending_payment"));
    assert_eq!(shop.stock("demo").await, 99);

    shop.status("43", &id).await.is_refused(404, "order_unknown", "another user");
    let anonymous = shop.edge.get(&format!("/v1/orders/{id}")).send().await;
    anonymous.is_refused(401, "identity_missing", "nobody");
    shop.status("42", "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B").await.is_refused(404, "order_unknown", "no such order");
    shop.status("42", "nonsense").await.is_refused(404, "order_unknown", "no order id");

    let mine = shop.edge.get("/v1/sales/demo/orders/mine").user("42").send().await;
    assert!(mine.status == 200 && mine.text().contains(&id), "{}", mine.text());
    let theirs = shop.edge.get("/v1/sales/demo/orders/mine").user("43").send().await;
    assert!(theirs.status == 200 && !theirs.text().contains(&id), "{}", theirs.text());
    let sale = shop.edge.get("/v1/sales/demo/details").send().await.json();
    assert_eq!((&sale["title"], &sale["state"], &sale["stock"]), (&"Lamp".into(), &"open".into(), &99.into()));
}

#[tokio::test]
async fn a_duplicate_gets_the_same_bytes_and_another_body_a_mismatch() {
    let shop = Shop::open(&[Sale::new("demo", 100).per_user(5)]).await;
    let call = shop.order("42", "demo").json(r#"{"quantity":2}"#);
    let first = call.clone().send().await;
    let id = order_id(&first);
    for _ in 0..10 {
        // At once: the origin has finished the claim in the step that took the stock.
        let again = call.clone().send().await;
        assert_eq!((again.status, &again.body), (first.status, &first.body), "{}", again.text());
        assert_eq!(again.header("location"), first.header("location"));
        assert_eq!(again.header("content-type"), first.header("content-type"));
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
    }
    assert_eq!(first.header("idempotency-replayed"), None);
    let other = call.clone().json(r#"{"quantity":1}"#).send().await;
    other.is_refused(422, "idempotency_mismatch", "another quantity");
    let rows = shop.settled(1).await;
    assert_eq!((rows[0].id.as_str(), rows[0].quantity, rows[0].amount), (id.as_str(), 2, 3998));

    let second = order_id(&shop.order("42", "demo").send().await);
    assert_ne!(second, id, "another token is another order");
    assert_eq!(shop.settled(2).await.len(), 2);
    let endless: Vec<_> = ttls(&mut crate::support::connect(&shop.stack))
        .into_iter()
        .filter(|(key, ttl)| *ttl < 0 && (key.contains(":b:") || key.contains(":claim:")))
        .collect();
    assert!(endless.is_empty(), "r_ratelimit_js_95: {endless:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r_miaosha_145_of_30_buyers_of_10_items_exactly_10_buy() {
    let shop = Shop::open(&[Sale::new("demo", 10)]).await;
    let buyer = |i: usize| shop.order(&format!("user-{i}"), "demo").ip(&format!("10.0.0.{i}")).send();
    let all: Vec<_> = (0..30).map(|i| tokio::spawn(buyer(i))).collect();
    let mut bought = 0;
    for answer in all {
        let answer = answer.await.unwrap();
        match answer.status {
            202 => bought += 1,
            _ => answer.is_refused(409, "sold_out", "the others"),
        }
    }
    assert_eq!(bought, 10);
    let rows = shop.settled(10).await;
    let users: std::collections::HashSet<_> = rows.iter().map(|row| row.user_id.as_str()).collect();
    assert_eq!((users.len(), shop.stock("demo").await), (10, 0));
    let sale = shop.edge.get("/v1/sales/demo/details").send().await.json();
    assert_eq!((&sale["state"], &sale["stock"]), (&"sold_out".into(), &0.into()));
}
