//! Redis away, frozen, or answering nonsense: closed routes refuse within the deadline, open ones go on without limits.

use std::time::Duration;

use xtask::build::Variant;
use xtask::clock;
use xtask::stack::Part;

use crate::foreign::Foreign;
use crate::http::Call;
use crate::rest::{Rest, Trick};
use crate::scene::{Contents, Scene, builder, contents};

/// What one request may spend on Redis (400 ms), and the way there and back.
const DEADLINE: Duration = Duration::from_millis(600);
/// What a machine busy with other tests may add.
const SLACK: Duration = Duration::from_millis(1_500);

fn order(scene: &Scene) -> Call {
    scene.edge.order("42", "demo", &scene.edge.token("42", "demo"))
}

/// Checks that closed routes are closed and open ones open, and quickly so.
async fn is_degraded(scene: &Scene, about: &str) {
    let seen = scene.origin.seen().len();
    let mut quickest = Duration::MAX;
    for call in [order(scene), order(scene), scene.edge.issue("42", "demo"), scene.edge.issue("43", "demo")] {
        let begin = clock::now();
        let answer = call.send().await;
        let took = begin.elapsed();
        answer.is_refused(503, "degraded", about);
        assert!((2..=10).contains(&answer.retry_after()), "{about}: the breaker may have opened");
        assert!(took < DEADLINE + SLACK, "{about}: {took:?}");
        assert_eq!(answer.header("ratelimit"), None, "{about}: nothing is known of any limit");
        quickest = quickest.min(took);
    }
    assert!(quickest < DEADLINE, "{about}: {quickest:?}");
    assert_eq!(scene.origin.seen().len(), seen, "{about}: the origin sees nothing");

    let begin = clock::now();
    let open = scene.edge.get("/v1/sales/demo/details").send().await;
    assert!(begin.elapsed() < DEADLINE + SLACK, "{about}: {:?}", begin.elapsed());
    assert_eq!((open.status, open.header("ratelimit")), (202, None), "{about}: an open route answers");
    assert_eq!(scene.origin.seen().len(), seen + 1, "{about}");
}

/// Asks until it is admitted: what was frozen may first have to answer what nobody waits for any more.
async fn works_again(scene: &Scene, about: &str) {
    let deadline = clock::now() + Duration::from_secs(10);
    loop {
        let answer = order(scene).send().await;
        if answer.status == 202 {
            return assert!(answer.header("ratelimit").is_some(), "{about}");
        }
        assert!(matches!(answer.status, 429 | 503) && clock::now() < deadline, "{about}: {}", answer.text());
        tokio::time::sleep(clock::POLL).await;
    }
}

#[tokio::test]
async fn a_killed_redis_closes_what_is_closed_until_it_is_back() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        order(&scene).send().await.is(202);
        scene.stack.kill(Part::Redis).unwrap();
        is_degraded(&scene, "killed").await;
        scene.stack.restart(Part::Redis).await.unwrap();
        works_again(&scene, "killed").await;
    }
}

#[tokio::test]
async fn r_worldmonitor_8356_a_frozen_redis_costs_no_more_than_the_deadline() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        order(&scene).send().await.is(202);
        scene.stack.pause(Part::Redis).unwrap();
        is_degraded(&scene, "frozen").await;
        scene.stack.resume(Part::Redis).unwrap();
        works_again(&scene, "frozen").await;
    }
}

/// The quickest of many calls tells what the gate itself takes, whatever else the machine does.
async fn quickest(scene: &Scene, range: std::ops::RangeInclusive<u128>, about: &str) {
    let limit = clock::now() + Duration::from_secs(30);
    let mut seen = Vec::new();
    while clock::now() < limit {
        let call = order(scene);
        let begin = clock::now();
        call.send().await.is_refused(503, "degraded", about);
        seen.push(begin.elapsed().as_millis());
        if seen.last().is_some_and(|took| range.contains(took)) {
            return;
        }
    }
    panic!("{about}: none took {range:?} ms, but {seen:?}");
}

#[tokio::test]
async fn a_black_hole_costs_the_deadline_and_at_most_50_ms_and_an_open_breaker_nothing() {
    for variant in Variant::ALL {
        let never_opens = include_str!("../../gate.toml").replace("failures = 5", "failures = 1000");
        let built = builder().variant(variant).gate_toml(&never_opens).unwrap();
        let scene = Scene::built(built, Foreign::accepting().await).await;
        scene.stack.pause(Part::Redis).unwrap();
        quickest(&scene, 380..=450, "a deadline of 400 ms, retry included").await;

        let scene = Scene::over(variant).await;
        scene.stack.pause(Part::Redis).unwrap();
        quickest(&scene, 0..=50, "an open breaker").await;
        assert!(scene.origin.seen().is_empty());
    }
}

#[tokio::test]
async fn an_order_that_redis_ran_after_its_client_had_given_up_is_free_again_long_before_its_lease_ends() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        order(&scene).settled().await.is(202);
        let call = order(&scene);
        scene.stack.pause(Part::Redis).unwrap();
        call.clone().send().await.is_refused(503, "degraded", "frozen");
        scene.stack.resume(Part::Redis).unwrap();
        // It polls for 10 s at most; the lease is 30 s.
        call.settled().await.is(202);
        assert_eq!(scene.origin.seen().len(), 2);
    }
}

#[tokio::test]
async fn a_killed_or_frozen_bridge_is_the_same() {
    let scene = Scene::start().await;
    scene.stack.pause(Part::Bridge).unwrap();
    is_degraded(&scene, "frozen bridge").await;
    scene.stack.resume(Part::Bridge).unwrap();
    works_again(&scene, "frozen bridge").await;
    scene.stack.kill(Part::Bridge).unwrap();
    is_degraded(&scene, "no bridge").await;
    scene.stack.restart(Part::Bridge).await.unwrap();
    works_again(&scene, "no bridge").await;
}

#[tokio::test]
async fn r_redis_js_1389_a_wrong_token_is_degraded_and_logged_as_misconfigured() {
    for variant in Variant::ALL {
        let builder = builder().variant(variant).binding("UPSTASH_REDIS_REST_TOKEN", "a-token-that-is-wrong");
        let scene = Scene::built(builder, Foreign::accepting().await).await;
        is_degraded(&scene, "401").await;
        assert_eq!(contents(&mut scene.redis()), Contents::new());
        let log = scene.stack.process(Part::Worker).unwrap().log_tail();
        assert!(log.contains("misconfigured") && !log.contains("a-token-that-is-wrong"), "{log}");
    }
}

#[tokio::test]
async fn a_reply_that_is_no_verdict_admits_nobody() {
    let replies = [
        (400, r#"{"error":"ERR max requests limit exceeded. Limit: 500000, Usage: 500000."}"#),
        (400, r#"{"error":"ERR Error running script: user_script:1: attempt to compare nil with number"}"#),
        (400, r#"{"error":"WRONGTYPE Operation against a key holding the wrong kind of value"}"#),
        (403, ""),
        (429, r#"{"error":"Too many requests"}"#),
        (500, "<html>"),
        (200, ""),
        (200, "{}"),
        (200, r#"{"result":null}"#),
        (200, r#"{"result":[]}"#),
        (200, r#"{"result":[0]}"#),
        (200, r#"{"result":[0,1]}"#),
        (200, r#"{"result":["0",1,""]}"#),
        (200, r#"{"result":[9,1]}"#),
        (200, r#"{"result":"OK"}"#),
        (204, ""),
        (302, ""),
    ];
    for variant in Variant::ALL {
        let (scene, rest) = Rest::before(variant).await;
        for (i, (status, body)) in replies.into_iter().enumerate() {
            let seen = rest.calls.seen().len();
            rest.play(Trick::Say(status, body));
            order(&scene).send().await.is_refused(503, "degraded", &format!("{status} {body}"));
            assert_eq!(rest.calls.seen().len(), seen + 1, "{status} {body}: it is not asked again");
            // A verdict in between keeps the breaker closed.
            let token = scene.edge.issue(&i.to_string(), "demo").ip(&format!("10.0.0.{i}")).send().await;
            assert_eq!(token.status, 200);
        }
        assert!(scene.origin.seen().is_empty(), "the origin sees nothing");
        order(&scene).send().await.is(202);
    }
}

#[tokio::test]
async fn r_redis_js_http_a_lost_reply_is_asked_for_again_and_charged_once() {
    for variant in Variant::ALL {
        let (scene, rest) = Rest::before(variant).await;
        scene.edge.order("warm", "demo", &scene.edge.token("warm", "demo")).settled().await.is(202);
        rest.play(Trick::LoseReply);
        let answer = order(&scene).ip("10.0.0.1").send().await;
        assert_eq!(answer.status, 202, "{variant:?}: {}", answer.text());
        assert!(answer.header("ratelimit").unwrap().starts_with("\"user\";r=4;"), "{answer:?}");
        assert_eq!(scene.origin.seen().len(), 2);
    }
}
