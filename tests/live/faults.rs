//! An origin that is away, silent or faulty: certain answers in time, and the operation may be tried again.

use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use futures_util::{StreamExt as _, stream};
use xtask::clock;

use crate::foreign::{Foreign, Seen, answer};
use crate::http::{Answer, Call};
use crate::scene::{Scene, builder};

/// How long an origin may take, as gate.toml leaves it.
const DEADLINE: Duration = Duration::from_secs(5);
const SLACK: Duration = Duration::from_secs(2);

/// Does as the user of the order wishes, but accepts every second attempt.
async fn by_attempt(attempts: &[Seen]) -> Response<Body> {
    let body = String::from_utf8_lossy(&attempts[0].body).into_owned();
    if attempts.len() > 1 {
        return answer(202, &[("content-type", "application/json")], "{}");
    }
    let kind = body.split('"').nth(3).unwrap_or_default().to_owned();
    match kind.as_str() {
        "silent" => std::future::pending().await,
        "stalls" => {
            let chunks = stream::iter([Ok::<_, String>("the beginning")]).chain(stream::pending());
            answer(202, &[], Body::from_stream(chunks))
        }
        "breaks" => Response::new(Body::from_stream(stream::iter([Ok("half"), Err("lost")]))),
        status => answer(status.parse().unwrap(), &[], "oops"),
    }
}

/// An origin that tells attempts of one operation apart by its op id.
async fn origin() -> Foreign {
    let attempts: std::sync::Arc<std::sync::Mutex<Vec<Seen>>> = std::sync::Arc::default();
    Foreign::start(move |request| {
        let mut all = attempts.lock().unwrap();
        all.push(request.clone());
        let key = request.header("idempotency-key").map(str::to_owned);
        let same: Vec<Seen> = all.iter().filter(|a| a.header("idempotency-key") == key.as_deref()).cloned().collect();
        async move { by_attempt(&same).await }
    })
    .await
}

fn order(scene: &Scene, kind: &str) -> Call {
    let edge = &scene.edge;
    edge.order(kind, "demo", &edge.token(kind, "demo")).json(&format!(r#"{{"kind":"{kind}"}}"#)).ip("10.0.0.1")
}

async fn timed(call: Call) -> (Answer, Duration) {
    let begin = clock::now();
    (call.send().await, begin.elapsed())
}

/// The same operation again: refused while the first attempt may still do something, accepted after `wait`.
async fn passes_after(call: Call, wait: u64) {
    let early = call.clone().send().await;
    if early.status != 202 {
        early.is_refused(409, "in_progress", "too early");
        tokio::time::sleep(Duration::from_secs(wait)).await;
        call.send().await.is(202);
    }
}

#[tokio::test]
async fn an_origin_that_is_away_is_502_and_the_operation_is_free_after_retry_after() {
    let away = Foreign::start(async |_| unreachable!()).await;
    let url = away.url().to_owned();
    drop(away);
    let builder = builder().binding("ORIGIN_URL", &url);
    let stack = builder.start().await.unwrap();
    let edge = crate::http::Edge::of(&stack);
    let read = edge.get("/v1/sales/demo/details").send().await;
    read.is_refused(502, "origin_unreachable", "read");
    assert!(read.header("ratelimit").is_some(), "it was admitted, and charged");
    assert_eq!(read.retry_after(), 1);

    let call = edge.order("42", "demo", &edge.token("42", "demo"));
    let (refusal, took) = timed(call.clone()).await;
    refusal.is_refused(502, "origin_unreachable", "order");
    assert!(took < SLACK, "{took:?}");
    let wait = refusal.retry_after();
    assert!((1..=5).contains(&wait), "{wait}");
    call.clone().send().await.is_refused(409, "in_progress", "the first attempt might still arrive");
    tokio::time::sleep(Duration::from_secs(wait)).await;
    call.send().await.is_refused(502, "origin_unreachable", "taken over, and tried again");
}

#[tokio::test]
async fn an_origin_that_is_too_slow_is_504_in_time_and_the_operation_is_free_after_retry_after() {
    let scene = Scene::of(origin().await).await;
    let attempt = |kind: &'static str| {
        let call = order(&scene, kind);
        async move {
            let (refusal, took) = timed(call.clone()).await;
            refusal.is_refused(504, "origin_timeout", kind);
            assert!((DEADLINE..DEADLINE + SLACK).contains(&took), "{kind}: {took:?}");
            passes_after(call, refusal.retry_after()).await;
        }
    };
    let meanwhile = async {
        let (other, took) = timed(order(&scene, "201")).await;
        assert!(other.status == 201 && took < SLACK, "one slow answer delays no other: {took:?}");
    };
    tokio::join!(attempt("silent"), attempt("stalls"), meanwhile);
    let ids: Vec<_> = scene.origin.seen().iter().map(|s| s.header("idempotency-key").unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 5, "each twice, and the quick one");
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 3, "under the same op id both times");
}

#[tokio::test]
async fn r_idempotency_41_an_ambiguous_answer_is_passed_on_never_stored_and_tried_again() {
    let scene = Scene::of(origin().await).await;
    let attempt = |kind: &'static str| {
        let call = order(&scene, kind);
        async move {
            let first = call.clone().send().await;
            match kind {
                "breaks" => first.is_refused(502, "origin_unreachable", kind),
                status => assert_eq!((first.status.to_string().as_str(), first.text().as_str()), (status, "oops")),
            }
            passes_after(call, 5).await;
        }
    };
    tokio::join!(attempt("500"), attempt("503"), attempt("429"), attempt("408"), attempt("425"), attempt("breaks"));
    assert_eq!(scene.origin.seen().len(), 12, "each once more, and no more");
}
