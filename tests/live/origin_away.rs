//! The real origin killed or frozen under an order: the client is told in time, and the same token leads to one order.

use std::time::Duration;

use xtask::clock;
use xtask::stack::{Part, Sale};

use crate::http::{Answer, Call};
use crate::scene::contents;
use crate::shop::{Shop, order_id};
use crate::support::connect;

/// Waits until the gate holds a claim, so that the order is on its way to the origin.
async fn claimed(shop: &Shop) {
    let deadline = clock::now() + Duration::from_secs(5);
    while !contents(&mut connect(&shop.stack)).keys().any(|key| key.contains(":claim:")) {
        assert!(clock::now() < deadline, "no claim");
        tokio::time::sleep(clock::POLL).await;
    }
}

/// Sends the order again after the wait that `refusal` names; it must become the one order there is.
async fn becomes_one_order(shop: &Shop, call: Call, refusal: &Answer) {
    let wait = refusal.retry_after();
    assert!(wait <= 5, "{wait}");
    tokio::time::sleep(Duration::from_secs(wait)).await;
    let id = order_id(&call.clone().send().await);
    assert_eq!(shop.settled(1).await[0].id, id);
    assert_eq!(order_id(&call.send().await), id);
    assert_eq!(shop.stock("demo").await, 99);
}

#[tokio::test]
async fn an_origin_that_is_down_is_502_and_the_same_token_orders_once_it_is_back() {
    let shop = Shop::open(&[Sale::new("demo", 100)]).await;
    shop.stack.kill(Part::Origin).unwrap();
    let call = shop.order("42", "demo");
    let refusal = call.clone().send().await;
    refusal.is_refused(502, "origin_unreachable", "down");
    shop.edge.get("/v1/sales/demo/details").send().await.is_refused(502, "origin_unreachable", "down");
    shop.stack.restart(Part::Origin).await.unwrap();
    becomes_one_order(&shop, call, &refusal).await;
}

#[tokio::test]
async fn r_express_idempotency_32_an_origin_killed_under_an_order_leaves_no_stuck_claim() {
    let shop = Shop::open(&[Sale::new("demo", 100)]).await;
    shop.stack.pause(Part::Origin).unwrap();
    let call = shop.order("42", "demo");
    let first = tokio::spawn(call.clone().send());
    claimed(&shop).await;
    call.clone().send().await.is_refused(409, "in_progress", "meanwhile");
    shop.stack.kill(Part::Origin).unwrap();
    let refusal = first.await.unwrap();
    refusal.is_refused(502, "origin_unreachable", "killed");
    shop.stack.restart(Part::Origin).await.unwrap();
    becomes_one_order(&shop, call, &refusal).await;
}

#[tokio::test]
async fn a_frozen_origin_is_504_and_what_it_finds_when_it_wakes_is_too_late() {
    let shop = Shop::open(&[Sale::new("demo", 100)]).await;
    shop.stack.pause(Part::Origin).unwrap();
    let call = shop.order("42", "demo");
    let begin = clock::now();
    let refusal = call.clone().send().await;
    let took = begin.elapsed();
    refusal.is_refused(504, "origin_timeout", "frozen");
    assert!(took < Duration::from_secs(7), "{took:?}");
    shop.stack.resume(Part::Origin).unwrap();
    becomes_one_order(&shop, call, &refusal).await;
}

#[tokio::test]
async fn an_order_accepted_whose_answer_was_lost_is_found_again_by_the_same_token() {
    let shop = Shop::open(&[Sale::new("demo", 100)]).await;
    let call = shop.order("42", "demo");
    let first = order_id(&call.clone().send().await);
    shop.stack.kill(Part::Origin).unwrap();
    let again = call.clone().send().await;
    assert_eq!(order_id(&again), first, "the gate answers alone");
    shop.stack.kill(Part::Worker).unwrap();
    shop.stack.restart(Part::Worker).await.unwrap();
    assert_eq!(order_id(&call.send().await), first, "and so does another isolate");
    shop.stack.restart(Part::Origin).await.unwrap();
    assert_eq!(shop.settled(1).await[0].id, first);
}
