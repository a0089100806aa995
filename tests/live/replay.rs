//! One operation sent again: the answer of a foreign origin is kept and replayed as it was.

use axum::body::Body;
use axum::http::Response;
use serde_json::Value;

use crate::foreign::{Foreign, Seen, answer};
use crate::http::{Answer, Call};
use crate::scene::{Scene, contents};

/// Answers as the body of the order asks: `status`, and how many bytes.
async fn as_asked(request: Seen) -> Response<Body> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let headers = [
        ("content-type", "application/x-order"),
        ("location", "/v1/orders/7?a=b#c"),
        ("etag", "\"7\""),
        ("set-cookie", "session=secret"),
        ("www-authenticate", "Basic"),
        ("x-own", "of this delivery"),
    ];
    let status = u16::try_from(body["status"].as_u64().unwrap()).unwrap();
    let size = usize::try_from(body["bytes"].as_u64().unwrap()).unwrap();
    answer(status, &headers, (0..size).map(|i| i.to_le_bytes()[0]).collect::<Vec<u8>>())
}

async fn scene() -> Scene {
    Scene::of(Foreign::start(as_asked).await).await
}

fn order(scene: &Scene, status: u16, bytes: usize) -> Call {
    let (edge, user) = (&scene.edge, format!("user-{status}-{bytes}"));
    let body = format!(r#"{{"status":{status},"bytes":{bytes}}}"#);
    edge.order(&user, "demo", &edge.token(&user, "demo")).json(&body)
}

/// What a replay must repeat.
fn kept(answer: &Answer) -> (u16, [Option<&str>; 3], &[u8]) {
    (answer.status, ["content-type", "location", "etag"].map(|name| answer.header(name)), &answer.body)
}

#[tokio::test]
async fn r_remitlend_pr1680_a_final_answer_is_replayed_byte_for_byte_and_charged_once() {
    let scene = scene().await;
    for (status, bytes) in [(200, 0), (201, 300), (202, 20_000), (302, 5), (400, 9), (404, 1), (409, 256), (422, 100)] {
        let call = order(&scene, status, bytes);
        let first = call.clone().send().await;
        assert_eq!((first.status, first.header("idempotency-replayed")), (status, None));
        assert_eq!(first.header("set-cookie"), Some("session=secret"));
        scene.origin.only();
        for _ in 0..7 {
            let again = call.clone().settled().await;
            assert_eq!(kept(&again), kept(&first), "{status}");
            assert_eq!(again.header("idempotency-replayed"), Some("true"));
            assert_eq!(again.header("cache-control"), Some("private, no-store"));
            assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
            for name in ["set-cookie", "www-authenticate", "x-own", "ratelimit"] {
                assert_eq!(again.header(name), None, "r_granit_dotnet_pr1151: {name}");
            }
        }
        assert!(scene.origin.seen().is_empty(), "the origin is not asked again");
    }
    let cookie = contents(&mut scene.redis()).values().any(|(value, _)| value.windows(6).any(|w| w == b"secret"));
    assert!(!cookie, "nothing that is not replayed is stored");
}

#[tokio::test]
async fn an_answer_too_large_to_keep_reaches_the_first_caller_and_is_never_repeated() {
    let scene = scene().await;
    for bytes in [40_000, 200_000] {
        let call = order(&scene, 201, bytes);
        let first = call.clone().send().await;
        assert_eq!((first.status, first.body.len()), (201, bytes));
        scene.origin.only();
        call.settled().await.is_refused(409, "outcome_unknown", &bytes.to_string());
        assert!(scene.origin.seen().is_empty());
    }
}

#[tokio::test]
async fn r_powertools_python_638_another_spelling_of_the_same_order_is_a_mismatch_and_charged() {
    let scene = scene().await;
    let call = order(&scene, 202, 1);
    call.clone().send().await.is(202);
    call.clone().settled().await.is(202);
    for body in
        [r#"{"bytes":1,"status":202}"#, r#"{"status":202, "bytes":1}"#, r#"{"status":202,"bytes":1,"quantity":2}"#]
    {
        let answer = call.clone().json(body).settled().await;
        answer.is_refused(422, "idempotency_mismatch", body);
        let left = answer.header("ratelimit").unwrap().to_owned();
        assert!(left.starts_with("\"user\";r="), "r_idempot_js_183: a mismatch is charged: {left}");
    }
    assert_eq!(scene.origin.seen().len(), 1);
}

#[tokio::test]
async fn the_same_key_of_another_user_or_sale_is_another_operation() {
    let scene = scene().await;
    let body = r#"{"status":202,"bytes":0}"#;
    for (user, sku) in [("42", "demo"), ("43", "demo"), ("42", "other")] {
        let call = scene.edge.order(user, sku, &scene.edge.token(user, sku)).json(body);
        let answer = call.header("idempotency-key", "the-same").send().await;
        assert_eq!((answer.status, answer.header("idempotency-replayed")), (202, None));
        scene.origin.only();
    }
}

#[tokio::test]
async fn a_client_that_leaves_strands_nothing() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let opened = std::sync::Arc::clone(&gate);
    let origin = Foreign::start(move |_| {
        let gate = std::sync::Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            answer(202, &[], "done")
        }
    });
    let scene = Scene::of(origin.await).await;
    let call = scene.edge.order("42", "demo", &scene.edge.token("42", "demo"));
    let leaving = tokio::spawn(call.clone().send());
    let deadline = xtask::clock::now() + std::time::Duration::from_secs(5);
    while scene.origin.seen().is_empty() {
        assert!(xtask::clock::now() < deadline, "the origin sees nothing");
        tokio::time::sleep(xtask::clock::POLL).await;
    }
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    call.clone().send().await.is_refused(409, "in_progress", "the origin is at it");
    opened.add_permits(1);
    let again = call.settled().await;
    assert_eq!((again.text().as_str(), again.header("idempotency-replayed")), ("done", Some("true")));
    scene.origin.only();
}
