//! What a sale answers when it does not sell, and which of these answers are for ever.

use std::time::Duration;

use xtask::stack::Sale;

use crate::shop::{Shop, order_id};

#[tokio::test]
async fn already_bought_names_the_order_and_is_for_ever_and_sold_out_is_not() {
    let shop = Shop::open(&[Sale::new("demo", 1)]).await;
    let id = order_id(&shop.order("42", "demo").send().await);
    let again = shop.order("42", "demo");
    let refusal = again.clone().send().await;
    refusal.is_refused(409, "already_bought", "a second order");
    assert_eq!(refusal.json()["order_id"], id);
    let replay = again.send().await;
    assert_eq!((&replay.body, replay.header("idempotency-replayed")), (&refusal.body, Some("true")));

    let late = shop.order("43", "demo");
    for _ in 0..3 {
        let answer = late.clone().send().await;
        answer.is_refused(409, "sold_out", "nothing is left");
        assert_eq!(answer.header("idempotency-replayed"), None, "a restock may change it, so it is asked each time");
    }
    assert_eq!(shop.settled(1).await[0].id, id);
    assert_eq!(shop.stock("demo").await, 0);
}

#[tokio::test]
async fn a_sale_that_has_not_started_says_when_and_takes_the_same_token_then() {
    let shop = Shop::open(&[Sale::new("soon", 5).starts_at("+6s")]).await;
    assert_eq!(shop.edge.get("/v1/sales/soon").send().await.json()["state"], "scheduled");
    let early = shop.order("42", "soon");
    let refusal = early.clone().send().await;
    refusal.is_refused(403, "sale_not_started", "before the start");
    let wait = refusal.retry_after();
    assert!((1..=6).contains(&wait), "{wait}");
    assert_eq!(shop.rows().await, [], "r_newbee_mall_97: nothing is taken");
    tokio::time::sleep(Duration::from_secs(wait)).await;
    let id = order_id(&early.send().await);
    assert_eq!(shop.settled(1).await[0].id, id);
}

#[tokio::test]
async fn a_sale_that_is_over_or_paused_or_unknown_sells_nothing() {
    let shop = Shop::open(&[Sale::new("brief", 5).ends_at("+1s"), Sale::new("rest", 5)]).await;
    shop.stack.origin_tool(&["sale", "pause", "rest"]).await.unwrap();
    let paused = shop.order("42", "rest");
    let refusal = paused.clone().send().await;
    refusal.is_refused(503, "sale_paused", "paused");
    assert!(refusal.retry_after() <= 5);
    shop.stack.origin_tool(&["sale", "resume", "rest"]).await.unwrap();
    let resumed = xtask::clock::now() + Duration::from_secs(10);
    let id = loop {
        // An isolate knows of it within a second.
        let answer = paused.clone().send().await;
        if answer.status == 202 {
            break order_id(&answer);
        }
        answer.is_refused(503, "sale_paused", "not yet seen");
        assert!(xtask::clock::now() < resumed);
        tokio::time::sleep(xtask::clock::POLL * 10).await;
    };

    let deadline = xtask::clock::now() + Duration::from_secs(10);
    while shop.edge.get("/v1/sales/brief").ip("10.0.0.9").send().await.json()["state"] != "ended" {
        assert!(xtask::clock::now() < deadline);
        tokio::time::sleep(xtask::clock::POLL * 10).await;
    }
    let over = shop.order("42", "brief");
    over.clone().send().await.is_refused(403, "sale_ended", "over");
    over.send().await.is_refused(403, "sale_ended", "and again, from memory");

    shop.edge.get("/v1/sales/nothing").send().await.is_refused(404, "sale_unknown", "no such sale");
    shop.order("42", "nothing").send().await.is_refused(404, "sale_unknown", "from memory");
    shop.order("42", "void").send().await.is_refused(404, "sale_unknown", "from the origin");
    let rows = shop.settled(1).await;
    assert_eq!((rows[0].id.as_str(), shop.stock("brief").await), (id.as_str(), 5));
}

#[tokio::test]
async fn r_codingxiaxw_16_more_than_is_left_or_than_one_user_may_have_is_refused_and_less_is_sold() {
    let shop = Shop::open(&[Sale::new("demo", 4).per_user(3)]).await;
    let many = |user: &str, quantity: u32| shop.order(user, "demo").json(&format!(r#"{{"quantity":{quantity}}}"#));
    many("1", 4).send().await.is_refused(400, "invalid_quantity", "more than one user may have");
    many("1", 2).send().await.is(202);
    many("1", 2).send().await.is_refused(409, "already_bought", "with what the user has");
    many("2", 3).send().await.is_refused(409, "sold_out", "more than is left");
    many("2", 2).send().await.is(202);
    shop.settled(2).await;
    assert_eq!(shop.stock("demo").await, 0);
}
