//! What operators ask and change, over real Redis and workerd.

use std::time::Duration;

use serde_json::{Value, json};
use xtask::clock;

use crate::foreign::Foreign;
use crate::http::{Answer, Edge, IP};
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
