//! Admission as a client sees it, over both ways to Redis, in workerd.

use std::time::Duration;

use xtask::build::Variant;
use xtask::clock;

use crate::http::{Answer, Call};
use crate::rest::Rest;
use crate::scene::{Contents, Scene, calls, contents};
use crate::support::ttls;

/// Sends calls one after another until one is limited: how many passed, the refusal, and the seconds that it took.
async fn until_limited(mut calls: impl Iterator<Item = Call>) -> (u64, Answer, u64) {
    let begin = clock::now();
    let mut passed = 0;
    loop {
        let answer = calls.next().unwrap().send().await;
        if answer.status == 429 {
            return (passed, answer, begin.elapsed().as_secs() + 1);
        }
        assert!(answer.status < 300, "{}", answer.text());
        passed += 1;
    }
}

/// Whether nothing was added, and no bucket touched. Some may have expired; earlier claims may have been finished.
fn nothing_charged(before: &Contents, after: &Contents) -> bool {
    after.iter().all(|(key, value)| match before.get(key) {
        Some(earlier) => !key.contains(":b:") || earlier == value,
        None => false,
    })
}

fn no_key_is_for_ever(scene: &Scene) {
    let forever: Vec<_> = ttls(&mut scene.redis()).into_iter().filter(|(_, ttl)| *ttl == -1).collect();
    assert!(forever.is_empty(), "r_ratelimit_js_95: {forever:?}");
}

/// Orders of one user under new tokens, each from another address.
fn clicks<'a>(scene: &'a Scene, user: &'a str) -> impl Iterator<Item = Call> + 'a {
    (0..250).map(move |i| scene.edge.order(user, "demo", &scene.edge.token(user, "demo")).ip(&format!("10.0.0.{i}")))
}

#[tokio::test]
async fn a_user_has_5_clicks_at_once_then_2_a_second_and_passes_after_retry_after() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        let first = clicks(&scene, "other").next().unwrap().send().await;
        assert_eq!(first.header("ratelimit-policy"), Some("\"user\";q=5;w=3, \"ip\";q=20;w=2"));
        assert_eq!(first.header("ratelimit"), Some("\"user\";r=4;t=1, \"ip\";r=19;t=1"));
        let (passed, refusal, seconds) = until_limited(clicks(&scene, "42")).await;
        assert!((5..=5 + 2 * seconds).contains(&passed), "{passed} in {seconds} s");
        refusal.is_refused(429, "too_many_requests", variant.name());
        assert!(refusal.header("ratelimit").unwrap().starts_with("\"user\";r=0;t="), "{refusal:?}");
        assert_eq!(refusal.retry_after(), 1);
        let orders = scene.origin.seen().len();
        assert_eq!(orders as u64, passed + 1, "the origin sees what was admitted and no more");

        let before = contents(&mut scene.redis());
        let limited = clicks(&scene, "42").next().unwrap().send().await;
        if limited.status == 429 {
            let after = contents(&mut scene.redis());
            assert!(nothing_charged(&before, &after), "r_envoyproxy_ratelimit_348: a refusal charges nobody");
        }
        no_key_is_for_ever(&scene);
        tokio::time::sleep(std::time::Duration::from_secs(refusal.retry_after())).await;
        let again = clicks(&scene, "42").next().unwrap().send().await;
        assert_eq!(again.status, 202, "r_fastify_rate_limit_pr325: it passes after exactly that wait");
    }
}

#[tokio::test]
async fn an_address_is_one_bucket_for_all_its_users_and_none_of_them_pays_for_a_refusal() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        let users = (0..250).map(|i| {
            let user = format!("user-{i}");
            scene.edge.order(&user, "demo", &scene.edge.token(&user, "demo"))
        });
        let (passed, refusal, seconds) = until_limited(users).await;
        assert!((20..=20 + 10 * seconds).contains(&passed), "{passed} in {seconds} s");
        refusal.is_refused(429, "too_many_requests", variant.name());
        assert!(refusal.header("ratelimit").unwrap().starts_with("\"user\";r=5;t=0, \"ip\";r=0;t="), "{refusal:?}");
        let mut elsewhere = clicks(&scene, "elsewhere");
        elsewhere.next().unwrap().send().await.is(202);
        no_key_is_for_ever(&scene);
    }
}

#[tokio::test]
async fn requests_without_an_address_share_one_strict_bucket() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        let nowhere = |i: usize| {
            let user = format!("user-{i}");
            let call = scene.edge.order(&user, "demo", &scene.edge.token(&user, "demo"));
            // r_alps_pr18: a made-up address in another header changes nothing.
            call.without("cf-connecting-ip").header("x-forwarded-for", &format!("10.0.0.{i}"))
        };
        let (passed, refusal, seconds) = until_limited((0..250).map(nowhere)).await;
        assert!((10..=10 + 5 * seconds).contains(&passed), "{passed} in {seconds} s");
        assert!(refusal.header("ratelimit").unwrap().contains("\"no-ip\";r=0;"), "{refusal:?}");
        clicks(&scene, "42").next().unwrap().send().await.is(202);
        no_key_is_for_ever(&scene);
    }
}

#[tokio::test]
async fn r_ratelimit_js_122_a_flushed_script_is_sent_again_and_changes_no_answer() {
    for variant in Variant::ALL {
        let scene = Scene::over(variant).await;
        let mut redis = scene.redis();
        let order = |user: &str| scene.edge.order(user, "demo", &scene.edge.token(user, "demo"));
        order("1").settled().await.is(202);
        let (_, eval) = (redis::cmd("SCRIPT").arg("FLUSH").exec(&mut redis), calls(&mut redis, "eval"));
        order("2").send().await.is(202);
        assert!(calls(&mut redis, "eval") > eval, "sent in full");
        // The origin sends its own scripts in full too, each once, whenever it comes to them.
        let deadline = clock::now() + Duration::from_secs(10);
        for user in 3.. {
            let (evalsha, eval) = (calls(&mut redis, "evalsha"), calls(&mut redis, "eval"));
            scene.edge.issue(&user.to_string(), "demo").send().await.is(200);
            assert!(calls(&mut redis, "evalsha") > evalsha);
            if calls(&mut redis, "eval") == eval {
                break;
            }
            assert!(clock::now() < deadline, "and known again from then on");
        }
        assert_eq!(calls(&mut redis, "script|load"), 0, "r_ratelimit_js_pr137");
    }
}

#[tokio::test]
async fn a_decision_is_one_http_request_and_one_evalsha() {
    for variant in Variant::ALL {
        let (scene, rest) = Rest::before(variant).await;
        let edge = &scene.edge;
        edge.issue("warm", "demo").send().await.is(200);
        let token = edge.token("42", "demo");
        let warm = rest.commands().len();
        let sent = || -> Vec<(String, usize)> {
            // Now and then a call also reads the sale, for all that come within the next second.
            let of_sale = |key: &String| key.contains(":sale:") || key.contains(":stock:");
            let counted = |keys: Vec<String>| keys.iter().filter(|key| !of_sale(key)).count();
            rest.commands().into_iter().skip(warm).map(|(name, keys)| (name, counted(keys))).collect()
        };
        edge.issue("42", "demo").send().await.is(200);
        edge.get("/v1/sales/demo/details").send().await.is(202);
        edge.order("42", "demo", &token).token("forged").send().await.is(403);
        let evalsha = |keys| ("EVALSHA".to_owned(), keys);
        assert_eq!(sent(), [evalsha(2), evalsha(1)], "two buckets; one; none for a forged token");

        edge.order("42", "demo", &token).send().await.is(202);
        let replay = edge.order("42", "demo", &token).settled().await;
        assert_eq!(replay.header("idempotency-replayed"), Some("true"));
        assert_eq!(sent()[2], evalsha(3), "claim and two buckets");
        let deadline = clock::now() + Duration::from_secs(10);
        while sent().len() < 5 && clock::now() < deadline {
            tokio::time::sleep(clock::POLL).await;
        }
        let completion = [evalsha(1), ("EVAL".to_owned(), 1)];
        assert_eq!(sent()[3..], completion, "by a script not seen before; the replay cost none");
    }
}

#[tokio::test]
async fn a_request_costs_one_command_when_redis_decides_and_none_when_memory_does() {
    let (scene, rest) = Rest::before(Variant::default()).await;
    let edge = &scene.edge;
    edge.issue("warm", "demo").send().await.is(200);
    let (mut shed, mut refused) = (0, 0);
    let order = |i: usize| edge.order("42", "demo", &edge.token("42", "demo")).ip(&format!("10.0.0.{i}"));
    for i in 0..40 {
        let completions = |calls: &Rest| calls.commands().iter().filter(|(_, keys)| keys.len() == 1).count();
        let asked = rest.commands().len() - completions(&rest);
        let answer = order(i).send().await;
        let decisions = rest.commands().len() - completions(&rest) - asked;
        match (answer.status, decisions) {
            (202, 1) => {}
            (429, 1) => refused += 1,
            (429, 0) => shed += 1,
            (status, decisions) => panic!("{decisions} decisions for {status}: {}", answer.text()),
        }
    }
    assert!(shed > refused && refused > 0, "{shed} shed, {refused} refused by Redis");
    // What is wrong by itself, or not this gate's, costs nothing.
    let before = rest.commands().len();
    for call in [
        order(0).token("forged"),
        order(0).json("{"),
        order(0).without("authorization"),
        edge.get("/nowhere"),
        edge.get("/healthz"),
    ] {
        call.send().await;
    }
    let late = |(_, keys): &(String, Vec<String>)| keys.len() == 1;
    assert!(rest.commands()[before..].iter().all(late), "only completions of orders before");
}
