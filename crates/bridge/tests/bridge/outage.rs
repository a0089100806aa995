//! Redis goes away, hangs and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{Bridge, Redis, answer, error_of, timed, until};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Counts {
    good: AtomicU64,
    unavailable: AtomicU64,
}

/// Writes and reads values that only this client knows, and checks each one.
async fn load(bridge: Bridge, client: usize, stop: Arc<AtomicBool>, counts: Arc<Counts>) -> u64 {
    let mut last_sent = 0;
    for turn in 1.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let pipeline = format!(
            r#"[["ECHO","{client}:{turn}"],["INCR","runs:{client}"],["EVAL","return ARGV[1]",0,"{client}/{turn}"]]"#
        );
        let path = if turn % 2 == 0 { "/pipeline" } else { "/multi-exec" };
        let (took, (status, text)) = timed(bridge.post(path, &pipeline)).await;
        assert!(took < 4 * SECOND, "{took:?}");
        match status {
            200 => {
                let items: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(items[0], json!({"result": format!("{client}:{turn}")}));
                assert_eq!(items[2], json!({"result": format!("{client}/{turn}")}));
                counts.good.fetch_add(1, Ordering::Relaxed);
            }
            503 => {
                assert!(error_of(&text).starts_with("ERR "), "{text}");
                counts.unavailable.fetch_add(1, Ordering::Relaxed);
            }
            _ => panic!("{status} {text}"),
        }
        last_sent = turn;
    }
    last_sent
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_under_load_it_answers_503_and_recovers_within_a_second() {
    let mut redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let (stop, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(Counts::default()));
    let clients: Vec<_> =
        (0..32).map(|i| tokio::spawn(load(bridge.clone(), i, Arc::clone(&stop), Arc::clone(&counts)))).collect();
    for round in 0..3 {
        let good = counts.good.load(Ordering::Relaxed);
        until(5 * SECOND, "requests pass", || async { counts.good.load(Ordering::Relaxed) > good + 200 }).await;
        redis.kill();
        let failed = counts.unavailable.load(Ordering::Relaxed);
        until(SECOND, "503 while redis is down", || async {
            counts.unavailable.load(Ordering::Relaxed) > failed + 200
        })
        .await;
        let (took, (status, _)) = timed(bridge.post("/", r#"["PING"]"#)).await;
        assert_eq!(status, 503);
        assert!(took < SECOND / 2, "{took:?}");
        redis.resume().await;
        let (took, ()) =
            timed(until(SECOND, "recovery", || async { bridge.post("/", r#"["PING"]"#).await.0 == 200 })).await;
        println!("round {round}: recovered {took:?} after redis answered");
    }
    stop.store(true, Ordering::Relaxed);
    // Nothing is sent twice: a counter never exceeds the requests that its client made.
    for (i, client) in clients.into_iter().enumerate() {
        let sent = client.await.unwrap();
        let runs = bridge.command(&format!(r#"["GET","runs:{i}"]"#)).await;
        let runs: u64 = runs.as_str().unwrap().parse().unwrap();
        assert!(runs <= sent, "client {i}: {runs} runs of {sent} requests");
    }
    let (good, unavailable) = (counts.good.load(Ordering::Relaxed), counts.unavailable.load(Ordering::Relaxed));
    println!("{good} answered, {unavailable} times 503");
    let connected = bridge.command(r#"["CLIENT","LIST","TYPE","normal"]"#).await;
    assert_eq!(connected.as_str().unwrap().lines().count(), 1, "no connection is leaked: {connected}");
}

#[tokio::test]
async fn it_starts_without_redis_and_uses_it_once_it_is_there() {
    let mut redis = Redis::stopped();
    let bridge = Bridge::before(&redis).await;
    let response = bridge.request("POST", "/").body(r#"["PING"]"#).send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(error_of(&response.text().await.unwrap()), "ERR redis is not reachable; nothing was sent");
    for path in ["/pipeline", "/multi-exec"] {
        let (status, text) = bridge.post(path, r#"[["PING"]]"#).await;
        assert_eq!(status, 503);
        error_of(&text);
    }
    redis.resume().await;
    until(SECOND, "recovery", || async { bridge.post("/", r#"["PING"]"#).await.0 == 200 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_is_503_in_bounded_time_and_its_late_replies_reach_nobody() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| {
        config.command_timeout = Duration::from_millis(300);
        config.connect_timeout = Duration::from_millis(300);
    })
    .await;
    bridge.command(r#"["PING"]"#).await;
    redis.signal(Signal::SIGSTOP);
    let waiting: Vec<_> = (0..50)
        .map(|i| {
            let bridge = bridge.clone();
            tokio::spawn(async move { timed(bridge.post("/", &format!(r#"["ECHO","early {i}"]"#))).await })
        })
        .collect();
    for request in waiting {
        let (took, (status, text)) = request.await.unwrap();
        assert_eq!(status, 503, "{text}");
        assert!(error_of(&text).ends_with("may or may not have run"), "{text}");
        assert!(took < SECOND, "{took:?}");
    }
    until(3 * SECOND, "a dead connection is given up", || async {
        let (_, text) = bridge.post("/", r#"["PING"]"#).await;
        text.contains("nothing was sent")
    })
    .await;
    redis.signal(Signal::SIGCONT);
    until(SECOND, "recovery", || async { bridge.post("/", r#"["PING"]"#).await.0 == 200 }).await;
    for i in 0..50 {
        assert_eq!(bridge.command(&format!(r#"["ECHO","late {i}"]"#)).await, json!(format!("late {i}")));
    }
}

/// One slow command is a time-out for those who wait, not a reason to give the connection up.
#[tokio::test(flavor = "multi_thread")]
async fn late_replies_on_a_living_connection_reach_nobody() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| config.command_timeout = Duration::from_millis(300)).await;
    let id = bridge.command(r#"["CLIENT","ID"]"#).await;
    let spin = "local n = redis.call('TIME'); local s = n[1]*1000000+n[2]; repeat n = redis.call('TIME') \
                until n[1]*1000000+n[2]-s > 450000; return 'slow'";
    assert_eq!(bridge.post("/", &json!(["EVAL", spin, 0]).to_string()).await.0, 503);
    for i in 0..50 {
        let (status, text) = bridge.post("/", &format!(r#"["ECHO","{i}"]"#)).await;
        assert!(status == 503 || text == format!(r#"{{"result":"{i}"}}"#), "{text}");
    }
    assert_eq!(bridge.command(r#"["CLIENT","ID"]"#).await, id);
}

#[tokio::test]
async fn wrong_credentials_are_503_and_the_password_is_not_told() {
    let redis = Redis::start().await;
    let admin = Bridge::before(&redis).await;
    admin.command(r#"["ACL","SETUSER","app","on",">right","~*","+@all"]"#).await;
    let url = |password| format!("redis://app:{password}@127.0.0.1:{}", redis.port);
    let bridge = Bridge::with(&redis, |config| *config = sluice_bridge::Config::new(&url("wrong"), "t").unwrap()).await;
    let (status, text) = answer(bridge.http.post(&bridge.url).bearer_auth("t").body(r#"["PING"]"#)).await;
    assert_eq!(status, 503);
    assert!(!error_of(&text).contains("wrong"));
    let bridge = Bridge::with(&redis, |config| *config = sluice_bridge::Config::new(&url("right"), "t").unwrap()).await;
    let who = answer(bridge.http.post(&bridge.url).bearer_auth("t").body(r#"["ACL","WHOAMI"]"#)).await;
    assert_eq!(who, (200, r#"{"result":"app"}"#.into()));
}
