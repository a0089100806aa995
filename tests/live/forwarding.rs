//! The request as the origin gets it: unchanged, with an assertion that holds for exactly this request.

use sluice::assertion::{Assertion, Assertions, HEADER};
use sluice::digest::body_hash;
use sluice::model::Millis;
use xtask::clock;

use crate::foreign::Seen;
use crate::http::IP;
use crate::scene::{Scene, contents};

/// What the gate vouched for, by the gate's own secret.
fn vouched(scene: &Scene, seen: &Seen) -> Assertion {
    let assertions = Assertions::new(&scene.stack.secrets().assertion).unwrap();
    let now = Millis(clock::unix_ms());
    let token = seen.header(HEADER).unwrap();
    assert!(assertions.verify(token, now.plus(Millis(32_000))).is_err(), "it holds for 30 s");
    assertions.verify(token, now).unwrap()
}

#[tokio::test]
async fn r_workerd_969_an_order_arrives_byte_for_byte_and_vouched_for() {
    let scene = Scene::start().await;
    let body = " {\"quantity\" : 1,\t\"note\":\"昵称 🙂\",\"quantity\":1}\r\n";
    let token = scene.edge.token("42", "demo");
    let target = "/v1/sales/demo/orders?b=%20x&a=1&a=%E6%98%B5&=&c";
    let call = scene.edge.call("POST", target).user("42").token(&token).json(body);
    call.send().await.is(202);
    let seen = scene.origin.only();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", target));
    assert_eq!(seen.body, body.as_bytes());
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("content-length"), Some(body.len().to_string().as_str()));
    assert!(seen.header("x-request-id").is_some());

    let assertion = vouched(&scene, &seen);
    assert_eq!(assertion.sub.as_deref(), Some("42"));
    assert_eq!(assertion.ip.as_deref(), Some(IP));
    assert_eq!(assertion.sku.as_deref(), Some("demo"));
    assert_eq!((assertion.mtd.as_str(), assertion.pth.as_str()), ("POST", target));
    assert_eq!(assertion.bdy, body_hash(body.as_bytes()));
    let op = assertion.op.unwrap();
    assert_eq!(seen.header("idempotency-key"), Some(op.id.as_str()), "the origin knows it by its op id alone");
    assert_eq!(op.owner.len(), 22);
    assert!(contents(&mut scene.redis()).contains_key(&op.claim), "{}", op.claim);
    let now = clock::unix_ms();
    assert!((now..=now + 5_000).contains(&op.not_after), "{} at {now}", op.not_after);
}

#[tokio::test]
async fn two_orders_are_two_operations_and_two_attempts_at_one_are_not() {
    let scene = Scene::start().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).send().await.is(202);
        let op = vouched(&scene, &scene.origin.only()).op.unwrap();
        ids.push((op.id, op.owner));
    }
    assert_ne!(ids[0].0, ids[1].0);
    assert_ne!(ids[0].1, ids[1].1);
}

#[tokio::test]
async fn no_cache_between_the_gate_and_the_origin_is_asked_or_filled() {
    let scene = Scene::start().await;
    scene.edge.get("/v1/sales/demo/details").send().await.is(202);
    scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).send().await.is(202);
    for seen in scene.origin.seen() {
        // The platform says so in a fetch that goes past its caches.
        assert_eq!(seen.header("cache-control"), Some("no-cache"), "{}", seen.target);
    }
}

#[tokio::test]
async fn a_read_is_vouched_for_without_an_operation() {
    let scene = Scene::start().await;
    scene.edge.get("/v1/sales/demo/details?x=1").ip("2001:db8:0:1::7").send().await.is(202);
    let anonymous = vouched(&scene, &scene.origin.only());
    let expected = Assertion {
        sub: None,
        ip: Some("2001:db8:0:1::/64".into()),
        sku: Some("demo".into()),
        mtd: "GET".into(),
        pth: "/v1/sales/demo/details?x=1".into(),
        bdy: body_hash(b""),
        op: None,
    };
    assert_eq!(anonymous, expected);

    let path = "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B";
    scene.edge.get(path).user("昵称").without("cf-connecting-ip").send().await.is(202);
    let mine = vouched(&scene, &scene.origin.only());
    assert_eq!((mine.sub.as_deref(), mine.ip, mine.sku, mine.op), (Some("昵称"), None, None, None));

    scene.edge.get("/healthz").send().await.is(200);
    assert!(scene.origin.seen().is_empty(), "the gate's own health is not the origin's");
}
