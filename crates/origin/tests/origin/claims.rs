//! The edge's claim, finished in the script that takes the stock.

use sluice::api::answer::unpack;
use sluice::digest::Tag;
use sluice::model::Partition;
use sluice::script::keys::Keyspace;

use crate::support::Shop;
use crate::support::client::{Answer, Order};

const RETENTION: u64 = 3_600_000;

fn owner(name: &str) -> String {
    Tag::of(&[name.as_bytes()]).to_string()
}

/// An order with a claim as `admit.lua` writes it.
async fn claimed(shop: &Shop, order: Order, state: char) -> (Order, String, String) {
    let key = Keyspace::default().claim(Partition(0), &Tag::of(&[order.op.id.as_bytes()]));
    let (me, print) = (owner("me"), owner("fingerprint"));
    let record = format!("{state}{:013}{RETENTION:010}{me}{print}{}", 9_999_999_999_999u64, order.op.id);
    shop.redis.ask_with::<()>(&["SET", &key, &record, "PX", "30000"]).await;
    (order.claim(&key, &me), key, record)
}

async fn record(shop: &Shop, key: &str) -> Option<String> {
    shop.redis.ask_with(&["GET", key]).await
}

/// The claim is done, keeps its head, lives as long as it says, and replays this very answer.
async fn assert_finished_with(shop: &Shop, key: &str, before: &str, answer: &Answer) {
    assert_eq!(answer.header("sluice-completed"), Some("1"));
    let after = record(shop, key).await.unwrap();
    assert_eq!(after[..90], format!("D{}", &before[1..]), "the head is kept");
    let replay = unpack(&after[90..]).unwrap();
    assert_eq!((replay.status, replay.body.as_slice()), (answer.status, answer.body.as_bytes()));
    assert_eq!(replay.get("location"), answer.header("location"));
    assert_eq!(replay.get("content-type"), answer.header("content-type"));
    let ttl: u64 = shop.redis.ask_with(&["PTTL", key]).await;
    assert!((RETENTION - 10_000..=RETENTION).contains(&ttl), "{ttl}");
}

#[tokio::test]
async fn an_accepted_order_finishes_its_claim_with_its_answer() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    for state in ['F', 'H'] {
        let (order, key, before) = claimed(&shop, Order::by(state), state).await;
        let answer = origin.client.place(&order).await;
        assert_eq!((answer.status, answer.header("sluice-outcome")), (202, Some("final")));
        assert_finished_with(&shop, &key, &before, &answer).await;
        // The same operation again, whose claim is done: the same order, and nothing more to write.
        let again = origin.client.place(&order).await;
        assert_eq!((again.body, again.headers.get("sluice-completed")), (answer.body, None));
    }
}

#[tokio::test]
async fn a_taken_over_claim_is_finished_with_the_first_answer() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    let order = Order::by("1");
    let first = origin.client.place(&order).await;
    let (order, key, before) = claimed(&shop, order, 'F').await;
    let second = origin.client.place(&order.not_after(1)).await;
    assert_eq!(second.body, first.body);
    assert_finished_with(&shop, &key, &before, &second).await;
}

#[tokio::test]
async fn final_refusals_finish_the_claim_too() {
    let shop = Shop::selling(5).await;
    let origin = shop.origin().await;
    origin.client.place(&Order::by("1")).await.order_id();
    let (order, key, before) = claimed(&shop, Order::by("1"), 'F').await;
    let bought = origin.client.place(&order).await;
    assert_eq!(bought.refusal(), (409, "already_bought".into(), Some("final")));
    assert_finished_with(&shop, &key, &before, &bought).await;

    shop.redis.ask::<()>("HSET sl1:{p0}:sale:demo ends_at 1").await;
    let (order, key, before) = claimed(&shop, Order::by("2"), 'F').await;
    let ended = origin.client.place(&order).await;
    assert_eq!(ended.refusal(), (403, "sale_ended".into(), Some("final")));
    assert_finished_with(&shop, &key, &before, &ended).await;
}

#[tokio::test]
async fn passing_refusals_give_the_claim_up() {
    let shop = Shop::selling(1).await;
    let origin = shop.origin().await;
    let sale = "sl1:{p0}:sale:demo";
    for (change, code) in [
        ("SET sl1:{p0}:stock:demo 0".to_owned(), "sold_out"),
        (format!("HSET {sale} starts_at 9999999999999 ends_at 99999999999999"), "sale_not_started"),
        (format!("HSET {sale} paused 1"), "sale_paused"),
        (format!("DEL {sale}"), "sale_unavailable"),
    ] {
        shop.redis.ask::<()>(&change).await;
        let (order, key, _) = claimed(&shop, Order::by("1"), 'F').await;
        let answer = origin.client.place(&order).await;
        assert_eq!((answer.code().as_str(), answer.header("sluice-outcome")), (code, Some("passing")));
        assert_eq!(answer.header("sluice-completed"), Some("1"), "{code}");
        assert_eq!(record(&shop, &key).await, None, "{code}");
    }
}

#[tokio::test]
async fn a_passing_refusal_leaves_the_claim_in_place_of_the_stored_token_that_it_consumed() {
    let shop = Shop::selling(1).await;
    let origin = shop.origin().await;
    shop.redis.ask::<()>("SET sl1:{p0}:stock:demo 0").await;
    let (order, key, before) = claimed(&shop, Order::by("1"), 'F').await;
    let now: Vec<u64> = shop.redis.ask("TIME").await;
    let ends = (now[0] + 600) * 1_000;
    shop.redis.ask_with::<()>(&["SET", &key, &format!("{before}{ends}"), "PX", "600000"]).await;
    let answer = origin.client.place(&order).await;
    assert_eq!((answer.code().as_str(), answer.header("sluice-completed")), ("sold_out", Some("1")));
    let after = record(&shop, &key).await.unwrap();
    assert_eq!(after[..90], format!("R{}", &before[1..]));
    let until: u64 = shop.redis.ask_with(&["PEXPIRETIME", &key]).await;
    assert_eq!(until, ends);
}

#[tokio::test]
async fn what_is_not_sure_leaves_the_claim_alone() {
    let shop = Shop::selling(1).await;
    let origin = shop.origin().await;
    let (order, key, before) = claimed(&shop, Order::by("1"), 'F').await;
    let late = origin.client.place(&order.clone().not_after(1)).await;
    assert_eq!((late.code(), late.headers.get("sluice-completed")), ("origin_timeout".into(), None));
    assert_eq!(record(&shop, &key).await.as_deref(), Some(before.as_str()));

    let over = origin.client.place(&order.units(2)).await;
    assert_eq!((over.code(), over.headers.get("sluice-completed")), ("invalid_quantity".into(), None));
    assert_eq!(record(&shop, &key).await.as_deref(), Some(before.as_str()));
}

#[tokio::test]
async fn r_truxify_4623_only_the_owner_of_a_claim_in_flight_writes_it() {
    let shop = Shop::selling(9).await;
    let origin = shop.origin().await;
    let (order, key, before) = claimed(&shop, Order::by("1"), 'F').await;
    let stranger = order.clone().claim(&key, &owner("stranger"));
    let answer = origin.client.place(&stranger).await;
    assert_eq!((answer.status, answer.header("sluice-completed")), (202, None));
    assert_eq!(record(&shop, &key).await.as_deref(), Some(before.as_str()));

    for state in ['D', 'T', 'R'] {
        let (order, key, before) = claimed(&shop, Order::by(state), state).await;
        assert_eq!(origin.client.place(&order).await.header("sluice-completed"), None, "{state}");
        assert_eq!(record(&shop, &key).await.as_deref(), Some(before.as_str()));
    }
}

#[tokio::test]
async fn a_key_that_is_no_claim_is_never_touched() {
    let shop = Shop::selling(9).await;
    let origin = shop.origin().await;
    for (n, key) in ["sl1:{p0}:stock:demo", "sl1:{p0}:seq", "sl1:{p1}:claim:x", "other"].into_iter().enumerate() {
        let answer = origin.client.place(&Order::by(n).claim(key, &owner("me"))).await;
        assert_eq!((answer.status, answer.header("sluice-completed")), (202, None), "{key}");
    }
    assert_eq!(shop.stock().await, 5);
}

#[tokio::test]
async fn an_origin_with_a_redis_of_its_own_leaves_claims_to_the_edge() {
    let shop = Shop::selling(9).await;
    let mut config = shop.config();
    config.shares_claims = false;
    let origin = shop.origin_with(config).await;
    let (order, key, before) = claimed(&shop, Order::by("1"), 'F').await;
    let answer = origin.client.place(&order).await;
    assert_eq!((answer.header("sluice-outcome"), answer.header("sluice-completed")), (Some("final"), None));
    assert_eq!(record(&shop, &key).await.as_deref(), Some(before.as_str()));
}
