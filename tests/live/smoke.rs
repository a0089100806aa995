//! Once through `wrangler dev` itself: what a developer uses answers as workerd alone does.

use xtask::stack::{Runner, Sale};

use crate::mode::stack;
use crate::shop::{Shop, order_id};

#[tokio::test]
async fn an_order_goes_through_wrangler_dev() {
    let shop = Shop::built(stack().runner(Runner::Wrangler), &[Sale::new("demo", 5)]).await;
    shop.edge.get("/healthz").send().await.is(200);
    let token = shop.edge.issue("42", "demo").settled().await.json()["token"].as_str().unwrap().to_owned();
    let call = shop.edge.order("42", "demo", &token);
    let first = call.clone().settled().await;
    let id = order_id(&first);
    let again = call.clone().settled().await;
    assert_eq!((&again.body, again.header("idempotency-replayed")), (&first.body, Some("true")));
    assert_eq!(shop.settled(1).await[0].id, id);
    shop.status("42", &id).await.is(200);
    call.clone().token("forged").send().await.is_refused(403, "token_invalid", "forged");
    // wrangler passes on the address that a client sends, which is what lets one machine be a crowd.
    let elsewhere = shop.order("43", "demo").ip("10.0.0.7").settled().await;
    assert!(elsewhere.header("ratelimit").unwrap().contains("\"ip\";r=19"), "{elsewhere:?}");
}
