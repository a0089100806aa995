//! What is counted, what is warned of, and locks that nothing would free.

use crate::support::{LIMIT, Server, is_busy, lock_key, ms, take, terms, until};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use sluice_lock::{Locks, Monitor, Wait};

struct Watched {
    server: Server,
    locks: Locks,
    monitor: Monitor,
    registry: Registry,
}

impl Watched {
    async fn start(too_long: u64) -> Self {
        let (server, monitor) = (Server::start().await, Monitor::new(ms(too_long)));
        let mut registry = Registry::default();
        monitor.register(&mut registry);
        Self { locks: server.locks().await.with_monitor(&monitor), server, monitor, registry }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        text
    }

    #[track_caller]
    fn shows(&self, lines: &[&str]) {
        let text = self.text();
        for line in lines {
            assert!(text.lines().any(|shown| shown == *line), "{line} is missing:\n{text}");
        }
    }
}

#[tokio::test]
async fn holds_waits_and_failures_are_counted_by_kind() {
    let watched = Watched::start(60_000).await;
    let guard = take(&watched.locks, "a", terms(10_000)).await;
    let lock = watched.locks.simple("a", terms(10_000)).unwrap();
    assert!(is_busy(&lock.acquire(Wait::none()).await));
    watched.shows(&[
        r#"lock_held{kind="simple"} 1"#,
        r#"lock_wait_seconds_count{kind="simple"} 1"#,
        r#"lock_not_acquired_total{kind="simple",reason="busy"} 1"#,
    ]);
    guard.release().await.unwrap();
    drop(watched.locks.fair("a", terms(10_000)).unwrap().acquire(Wait::none()).await.unwrap());
    until("the drop is counted", || async { watched.text().contains(r#"lock_held{kind="fair"} 0"#) }).await;
    watched.shows(&[
        r#"lock_held{kind="simple"} 0"#,
        r#"lock_hold_seconds_count{kind="simple"} 1"#,
        r#"lock_hold_seconds_count{kind="fair"} 1"#,
    ]);
    assert!(!watched.text().contains("lock_lost_total{"), "no lease was lost");
}

#[tokio::test]
async fn a_lost_lease_is_counted_once() {
    let watched = Watched::start(60_000).await;
    let guard = take(&watched.locks, "a", terms(600).renewed_up_to(LIMIT).unwrap()).await;
    watched.server.ask::<()>(&["DEL", &lock_key("a")]).await;
    guard.lost().cancelled().await;
    assert!(!guard.release().await.unwrap().was_held());
    watched.shows(&[r#"lock_lost_total{kind="watchdog"} 1"#, r#"lock_held{kind="watchdog"} 0"#]);
}

#[tokio::test]
async fn a_lock_that_is_held_too_long_is_told_of_while_it_is_held() {
    let watched = Watched::start(100).await;
    let guard = take(&watched.locks, "a", terms(60_000)).await;
    let watching = tokio::spawn(watched.monitor.clone().watch(ms(10)));
    until("it is told of", || async { watched.text().contains(r#"lock_held_too_long_total{kind="simple"} 1"#) }).await;
    assert_eq!(watched.monitor.check(), 1);
    guard.release().await.unwrap();
    assert_eq!(watched.monitor.check(), 0);
    watched.shows(&[r#"lock_held_too_long_total{kind="simple"} 1"#]);
    watching.abort();
}

#[tokio::test]
async fn a_release_that_fails_ends_the_hold_all_the_same() {
    let mut watched = Watched::start(60_000).await;
    let guard = take(&watched.locks, "a", terms(10_000)).await;
    watched.server.kill();
    drop(guard);
    until("it is no longer counted", || async { watched.text().contains(r#"lock_held{kind="simple"} 0"#) }).await;
}

#[tokio::test]
async fn locks_without_a_ttl_are_found_by_bounded_steps() {
    let watched = Watched::start(60_000).await;
    let fill =
        "for i = 1, 2000 do redis.call('SET', 'other:' .. i, 1) redis.call('SET', 'test:fence:{' .. i .. '}', 1) end";
    watched.server.ask::<Option<i64>>(&["EVAL", fill, "0"]).await;
    let mut guards = Vec::new();
    for n in 0..20 {
        guards.push(take(&watched.locks, &format!("with{n}"), terms(60_000).fenced()).await);
    }
    watched.server.ask::<()>(&["SET", &lock_key("for ever"), "1"]).await;
    watched.server.ask::<()>(&["PERSIST", &lock_key("with7")]).await;
    watched.server.ask::<()>(&["CONFIG", "RESETSTAT"]).await;
    let mut scan = watched.locks.scan();
    assert!(!scan.step(300).await.unwrap().finished, "4,000 keys are more than one step");
    let statistics: String = watched.server.ask(&["INFO", "commandstats"]).await;
    assert!(statistics.contains("cmdstat_scan:calls=3,"), "{statistics}");
    let found = loop {
        let scanned = scan.step(500).await.unwrap();
        if scanned.finished {
            break scanned.without_ttl;
        }
    };
    assert_eq!(found, [lock_key("for ever"), lock_key("with7")]);
    watched.shows(&["lock_keys_without_ttl 2"]);
    watched.server.ask::<()>(&["DEL", &lock_key("for ever"), &lock_key("with7")]).await;
    assert!(scan.step(1_000_000).await.unwrap().without_ttl.is_empty(), "a new walk begins anew");
    watched.shows(&["lock_keys_without_ttl 0"]);
}
