//! Before routes and around answers, in workerd: other sites' pages, traces, times, the bound towards the origin, the
//! platform's own limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use xtask::clock;
use xtask::stack::Sale;

use crate::foreign::{Foreign, answer};
use crate::scene::{Scene, builder, calls};
use crate::shop::Shop;
use crate::support::connect;

const SHOP: &str = "https://shop.example";
const ORDER: &str = "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B";

fn toml() -> String {
    let more = format!(
        "[origin]\nin_flight = 1\n[flood]\nperiod_s = 10\n[answers]\nserver_timing = \"on\"\n[cors]\norigins = \"{SHOP}\"\n"
    );
    include_str!("../../gate.toml").replacen("[[limit]]", &format!("{more}\n[[limit]]"), 1)
}

async fn scene(origin: Foreign) -> Scene {
    Scene::built(builder().gate_toml(&toml()).unwrap(), origin).await
}

#[tokio::test]
async fn a_page_of_a_listed_site_can_order_and_read_refusals() {
    let scene = scene(Foreign::accepting().await).await;
    let preflight = |path: &str| {
        let call = scene.edge.call("OPTIONS", path).header("origin", SHOP);
        call.header("access-control-request-method", "POST").header("access-control-request-headers", "authorization")
    };
    let allowed = preflight("/v1/sales/demo/orders").send().await;
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, Some(SHOP)));
    assert!(allowed.header("access-control-allow-headers").unwrap().contains("sluice-order-token"));
    let gate = preflight("/__gate/config").send().await;
    assert_eq!((gate.status, gate.header("access-control-allow-origin")), (404, None));
    assert_eq!(calls(&mut scene.redis(), "evalsha"), 0);
    scene.is_untouched("preflights");

    let ordered = scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).header("origin", SHOP).send().await;
    assert_eq!((ordered.status, ordered.header("access-control-allow-origin")), (202, Some(SHOP)));
    let timing = ordered.header("server-timing").unwrap();
    assert!(timing.starts_with("redis;dur=") && timing.contains("origin;dur="), "{timing}");
    let refused = scene.edge.order("42", "demo", "forged").header("origin", SHOP).send().await;
    refused.is_refused(403, "token_invalid", "forged");
    assert_eq!(refused.header("access-control-allow-origin"), Some(SHOP));
    assert!(refused.header("access-control-expose-headers").unwrap().contains("retry-after"));
}

#[tokio::test]
async fn a_crowd_that_polls_a_sale_costs_a_call_a_second_and_the_origin_nothing() {
    let shop = Shop::open(&[Sale::new("demo", 3)]).await;
    let evals = || calls(&mut connect(&shop.stack), "evalsha") + calls(&mut connect(&shop.stack), "eval");
    shop.edge.get("/v1/sales/demo").settled().await.is(200);
    let (before, begun) = (evals(), clock::now());
    let looks = (0..200).map(|_| shop.edge.get("/v1/sales/demo").settled());
    for answer in futures_util::future::join_all(looks).await {
        let told = answer.json();
        assert_eq!((answer.status, &told["state"], &told["stock"]), (200, &"open".into(), &"few".into()), "{told}");
        assert!(told["now"].as_u64().unwrap().abs_diff(clock::unix_ms()) < 5_000, "{told}");
    }
    let seconds = begun.elapsed().as_secs() + 1;
    // One a second, and another one for each that a busy machine does not answer within its deadline.
    let asked = evals() - before;
    assert!(asked <= 5 + 3 * seconds, "{asked} calls in {seconds} s");
    let details = shop.edge.get("/v1/sales/demo/details").send().await.json();
    assert_eq!((&details["stock"], &details["state"]), (&3.into(), &"open".into()));
    assert_eq!(details["price"], shop.edge.get("/v1/sales/demo").send().await.json()["price"]);
}

#[tokio::test]
async fn a_trace_goes_on_to_the_origin_or_begins_at_the_gate() {
    let scene = scene(Foreign::accepting().await).await;
    let get = || scene.edge.get(ORDER).user("42");
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    get().header("traceparent", trace).header("tracestate", "a=b").send().await.is(202);
    let seen = scene.origin.only();
    assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (Some(trace), Some("a=b")));
    get().header("traceparent", "bad").header("tracestate", "a=b").send().await.is(202);
    let seen = scene.origin.only();
    assert_eq!((seen.header("traceparent").map(str::len), seen.header("tracestate")), (Some(55), None));
}

#[tokio::test]
async fn what_is_beyond_the_bound_towards_the_origin_is_busy_until_an_answer_comes() {
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let origin = Foreign::start(move |_| {
        let held = Arc::clone(&held);
        async move {
            held.acquire().await.unwrap().forget();
            answer(202, &[("sluice-outcome", "final")], "{}")
        }
    });
    let scene = scene(origin.await).await;
    let first = tokio::spawn(scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).send());
    let deadline = clock::now() + Duration::from_secs(5);
    while scene.origin.seen().is_empty() {
        assert!(clock::now() < deadline, "it never arrived");
        tokio::time::sleep(clock::POLL).await;
    }
    let charged = calls(&mut scene.redis(), "evalsha");
    let second = scene.edge.order("43", "demo", &scene.edge.token("43", "demo"));
    let refused = second.clone().send().await;
    refused.is_refused(503, "busy", "beyond the bound");
    assert_eq!(refused.retry_after(), 1);
    assert_eq!(calls(&mut scene.redis(), "evalsha"), charged, "nothing was asked or charged");
    gate.add_permits(2);
    first.await.unwrap().is(202);
    second.send().await.is(202);
}

#[tokio::test]
async fn the_platforms_own_limit_refuses_before_any_call() {
    let scene = Scene::built(builder().gate_toml(&toml()).unwrap().flood(3), Foreign::accepting().await).await;
    for _ in 0..3 {
        scene.edge.get(ORDER).user("42").send().await.is(202);
    }
    let asked = calls(&mut scene.redis(), "evalsha");
    let refused = scene.edge.get(ORDER).user("42").send().await;
    refused.is_refused(429, "too_many_requests", "the fourth");
    assert_eq!(refused.retry_after(), 10);
    assert_eq!(calls(&mut scene.redis(), "evalsha"), asked);
    scene.edge.get(ORDER).user("42").ip("198.51.100.1").send().await.is(202);
}
