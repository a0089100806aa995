//! What operators ask and change, over real Redis and workerd.

use std::time::Duration;

use serde_json::{Value, json};
use sluice::model::Sku;
use xtask::clock;

use crate::foreign::{Foreign, answer};
use crate::http::{Answer, Edge, IP};
use crate::mode::keyspace;
use crate::scene::{Scene, builder, contents};

const ADMIN: &str = "the-token-of-operators-0000000000";

async fn asked(edge: &Edge, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let call = edge.call(method, path).header("authorization", &format!("Bearer {ADMIN}"));
    match body {
        Some(body) => call.json(&body.to_string()).send().await,
        None => call.send().await,
    }
}

/// Sends orders until one is refused.
async fn exhaust(edge: &Edge, user: &str) {
    for _ in 0..100 {
        if edge.order(user, "demo", &edge.token(user, "demo")).send().await.status == 429 {
            return;
        }
    }
    panic!("no limit");
}

#[tokio::test]
async fn a_user_who_is_shut_out_is_looked_at_and_let_in_again() {
    let scene = Scene::built(builder().binding("ADMIN_TOKEN", ADMIN), Foreign::accepting().await).await;
    exhaust(&scene.edge, "42").await;
    let before = contents(&mut scene.redis());
    let named = json!({"user": "42", "ip": IP});
    let seen = asked(&scene.edge, "POST", "/__gate/peek", Some(&named)).await;
    seen.is(200);
    let seen = seen.json();
    let user = seen["buckets"].as_array().unwrap().iter().find(|bucket| bucket["limit"] == "user").unwrap();
    assert!(user["remaining"].as_u64().unwrap() <= 2, "{seen}");
    assert_eq!(contents(&mut scene.redis()).len(), before.len(), "a look charges nothing");

    exhaust(&scene.edge, "42").await;
    let done = asked(&scene.edge, "POST", "/__gate/reset", Some(&named)).await;
    assert!(done.json()["deleted"].as_u64().unwrap() >= 2, "{}", done.text());
    let deadline = clock::now() + Duration::from_secs(1);
    while scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).send().await.status != 202 {
        assert!(clock::now() < deadline, "a reset reaches the isolate within `snapshot_ms`");
        tokio::time::sleep(clock::POLL).await;
    }
    let log = scene.stack.process(xtask::stack::Part::Worker).unwrap().log_tail();
    assert!(log.contains("\"at\":\"reset\"") && !log.contains(IP), "{log}");
}

#[tokio::test]
async fn the_gate_tells_its_configuration_and_how_redis_and_origin_are() {
    let scene = Scene::built(builder().binding("ADMIN_TOKEN", ADMIN), Foreign::accepting().await).await;
    let config = asked(&scene.edge, "GET", "/__gate/config", None).await;
    config.is(200);
    assert_eq!(config.json()["source"], "embedded");
    assert!(!config.text().contains(scene.stack.secrets().order_token.as_str()));
    let probe = asked(&scene.edge, "GET", "/__gate/probe", None).await.json();
    assert_eq!((probe["redis"]["answers"].as_bool(), probe["origin"]["answers"].as_bool()), (Some(true), Some(true)));
    assert_eq!(probe["breaker"], "closed");
}

#[tokio::test]
async fn without_their_token_operators_get_nothing_and_no_page_of_another_site_does() {
    let scene = Scene::built(builder().binding("ADMIN_TOKEN", ADMIN), Foreign::accepting().await).await;
    let wrong = scene.edge.get("/__gate/config").header("authorization", "Bearer x").send().await;
    wrong.is_refused(401, "identity_invalid", "a wrong token");
    let across = scene.edge.call("OPTIONS", "/__gate/config").header("origin", "https://shop.example");
    let across = across.header("access-control-request-method", "GET").send().await;
    assert_eq!(across.header("access-control-allow-origin"), None);
    assert!(across.status >= 400);
    scene.is_untouched("no token");
    let none = Scene::start().await;
    asked(&none.edge, "GET", "/__gate/config", None).await.is_refused(404, "not_found", "no token is set");
}

fn demo() -> Sku {
    Sku::parse("demo").unwrap()
}

/// Puts a sale into Redis of which nothing is left.
fn sold_out(scene: &Scene) {
    let (now, keys, sku) = (clock::unix_ms(), keyspace(), demo());
    let terms = [("starts_at", now - 1_000), ("ends_at", now + 600_000), ("paused", 0), ("per_user", 1), ("price", 1)];
    let mut redis = scene.redis();
    let _: () = redis::cmd("HSET").arg(keys.sale(&sku)).arg(&terms).query(&mut redis).unwrap();
    let _: () = redis::cmd("SET").arg(keys.stock(&sku)).arg(0).query(&mut redis).unwrap();
}

#[tokio::test]
async fn what_isolates_refuse_by_themselves_is_counted_in_redis_and_measured() {
    let engine = Foreign::start(|_| async { answer(200, &[], "") }).await;
    let address = engine.url().strip_prefix("http://").unwrap().to_owned();
    let builder = builder().binding("ADMIN_TOKEN", ADMIN).analytics(&address);
    let scene = Scene::built(builder, Foreign::accepting().await).await;
    sold_out(&scene);
    let order = |n: usize| {
        let user = format!("buyer-{n}");
        let call = scene.edge.order(&user, "demo", &scene.edge.token(&user, "demo"));
        call.ip(&format!("198.51.100.{}", n % 250 + 1))
    };
    let mut sent = 0;
    let deadline = clock::now() + Duration::from_secs(20);
    let counted = loop {
        for _ in 0..10 {
            order(sent).send().await.is_refused(409, "sold_out", "nothing is left");
            sent += 1;
        }
        let counters = asked(&scene.edge, "GET", "/__gate/counters?sku=demo", None).await;
        let counted = counters.json()["counters"].clone();
        if counted["shed"].as_u64() > Some(0) {
            break counted;
        }
        assert!(clock::now() < deadline, "{}", counters.text());
        tokio::time::sleep(Duration::from_millis(250)).await;
    };
    let (all, shed) = (counted["sold_out"].as_u64().unwrap(), counted["shed"].as_u64().unwrap());
    assert!(all >= 10 && all <= sent as u64 && shed < all, "{counted} of {sent}");
    let ttl: i64 = redis::cmd("PTTL").arg(keyspace().counters(&demo())).query(&mut scene.redis()).unwrap();
    assert!(ttl > 6 * 24 * 3_600_000, "{ttl}");
    let written = engine.seen();
    assert!(written.len() >= sent, "{} of {sent} decisions are measured", written.len());
    // workerd writes texts as lists of bytes.
    let texts = |event: &Value| -> Vec<String> {
        let blobs = event.as_object().unwrap().values().filter_map(Value::as_array);
        blobs
            .map(|bytes| bytes.iter().map(|byte| char::from(u8::try_from(byte.as_u64().unwrap()).unwrap())).collect())
            .collect()
    };
    let events: Vec<Value> = written.iter().map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect();
    let said: Vec<String> = events.iter().flat_map(texts).collect();
    assert!(said.iter().filter(|text| *text == "sold_out").count() >= sent, "{:?}", events[0]);
    assert!(!said.iter().any(|text| text.contains("buyer-") || text.contains("198.51.100")), "{said:?}");
}
