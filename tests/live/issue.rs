//! Order tokens and lists in workerd: a challenge that a stand-in judges, the opening, the wait, and who is listed.

use std::sync::{Arc, Mutex};

use sluice::model::Sku;
use xtask::clock;

use crate::foreign::{Foreign, answer};
use crate::mode::keyspace;
use crate::scene::{Scene, builder};

async fn scene(section: &str, token: &str) -> Scene {
    let toml = include_str!("../../gate.toml").replacen("[token]", &format!("{section}\n[token]\n{token}"), 1);
    let builder = builder().gate_toml(&toml).unwrap().binding("CHALLENGE_SECRET", "the-shops-secret");
    Scene::built(builder, Foreign::accepting().await).await
}

/// A sale that starts so many ms from now, as Redis holds it.
fn sale_in(scene: &Scene, ms: u64) -> u64 {
    let (keys, sku) = (keyspace(), Sku::parse("demo").unwrap());
    let starts_at = clock::unix_ms() + ms;
    let mut redis = scene.redis();
    let terms = [("starts_at", starts_at), ("ends_at", starts_at + 3_600_000), ("paused", 0), ("price", 1999)];
    redis::cmd("HSET").arg(keys.sale(&sku)).arg(&terms).exec(&mut redis).unwrap();
    redis::cmd("SET").arg(keys.stock(&sku)).arg(5).exec(&mut redis).unwrap();
    starts_at
}

#[tokio::test]
async fn a_challenge_is_judged_by_the_configured_service_and_its_absence_is_503() {
    let says = Arc::new(Mutex::new((200, r#"{"success":true}"#)));
    let told = Arc::clone(&says);
    let service = Foreign::start(move |_| {
        let (status, body) = *told.lock().unwrap();
        async move { answer(status, &[("content-type", "application/json")], body) }
    })
    .await;
    let scene = scene("", &format!("challenge_url = \"{}/siteverify\"", service.url())).await;
    let ask = |user: &str| scene.edge.issue(user, "demo").ip("2001:db8::7");
    ask("1").send().await.is_refused(400, "challenge_required", "no answer");
    assert!(service.seen().is_empty());
    ask("1").header("sluice-challenge", "0.a-b_c").send().await.is(200);
    let seen = service.only();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/siteverify"));
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded;charset=UTF-8"));
    let form = String::from_utf8(seen.body.to_vec()).unwrap();
    assert_eq!(form, "secret=the-shops-secret&response=0.a-b_c&remoteip=2001%3Adb8%3A%3A7");

    *says.lock().unwrap() = (200, r#"{"success":false,"error-codes":["timeout-or-duplicate"]}"#);
    let in_body = ask("2").json(r#"{"challenge":"0.again&secret=mine"}"#).send().await;
    in_body.is_refused(403, "challenge_failed", "used before");
    assert!(String::from_utf8(service.only().body.to_vec()).unwrap().contains("response=0.again%26secret%3Dmine"));

    *says.lock().unwrap() = (503, "away");
    let away = ask("3").header("sluice-challenge", "0.abc").send().await;
    away.is_refused(503, "challenge_unavailable", "the service is away");
    assert_eq!(away.header("retry-after"), Some("2"));
    drop(service);
    ask("4").header("sluice-challenge", "0.abc").send().await.is_refused(503, "challenge_unavailable", "gone");
}

#[tokio::test]
async fn tokens_open_before_the_sale_and_the_wait_spreads_its_start() {
    // Nobody is counted: the test asks until the isolate knows what has changed.
    let scene = scene("[lists]\nallow_ips = \"0.0.0.0/0\"", "opens_before_s = 60\njitter_ms = 5000").await;
    sale_in(&scene, 90_000);
    let early = scene.edge.issue("1", "demo").send().await;
    early.is_refused(403, "sale_not_started", "not yet");
    let wait: u64 = early.header("retry-after").unwrap().parse().unwrap();
    assert!((20..=31).contains(&wait), "{wait}");

    let starts_at = sale_in(&scene, 50_000);
    let mut spread = Vec::new();
    let deadline = clock::now() + std::time::Duration::from_secs(10);
    while spread.len() < 12 {
        let user = format!("2{}", spread.len());
        let ip = format!("10.1.0.{}", spread.len());
        let issued = scene.edge.issue(&user, "demo").ip(&ip).send().await;
        // The isolate may repeat for a second what it knew of the sale.
        if issued.status == 403 {
            assert!(clock::now() < deadline, "{issued:?}");
            tokio::time::sleep(clock::POLL).await;
            continue;
        }
        issued.is(200);
        let token = issued.json();
        let [now, wait, expires] = ["now", "wait_ms", "expires_at"].map(|name| token[name].as_u64().unwrap());
        assert_eq!((token["starts_at"].as_u64(), expires), (Some(starts_at), starts_at + 600_000));
        assert!((starts_at..=starts_at + 5_000).contains(&(now + wait)), "{token}");
        assert!(now.abs_diff(clock::unix_ms()) < 5_000, "{token}");
        spread.push(now + wait - starts_at);
    }
    assert!(spread.iter().max().unwrap() - spread.iter().min().unwrap() > 200, "{spread:?}");
}

#[tokio::test]
async fn who_is_listed_is_kept_out_or_not_counted() {
    let lists = "[lists]\ndeny_users = \"13\"\ndeny_ips = [\"2001:db8:bad::/48\", \"198.51.100.0/24\"]\n\
                 allow_users = \"1\"\nallow_ips = \"2001:db8:600d::/48\"";
    let scene = scene(lists, "").await;
    let issue = |user: &str, ip: &str| scene.edge.issue(user, "demo").ip(ip).send();
    issue("13", "10.0.0.1").await.is_refused(403, "denied", "user");
    for ip in ["2001:db8:bad::1", "2001:0DB8:0BAD:ffff::1", "198.51.100.7", "::ffff:198.51.100.7"] {
        issue("42", ip).await.is_refused(403, "denied", ip);
        issue("1", ip).await.is_refused(403, "denied", ip);
    }
    scene.is_untouched("those kept out");
    // The limit of issuing is five at once.
    for _ in 0..8 {
        issue("1", "10.0.0.1").await.is(200);
        issue("42", "2001:db8:600d:1::1").await.is(200);
    }
    assert!(redis::cmd("DBSIZE").query::<u64>(&mut scene.redis()).unwrap() == 0, "nobody was counted");
    let mut limited = false;
    for _ in 0..8 {
        limited |= issue("42", "2001:db8:bac::1").await.status == 429;
    }
    assert!(limited, "everybody else is");
}
