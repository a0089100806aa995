//! The simple lock: the five checks of a verification script, whose lock it is, and that nobody's is left behind.

use crate::support::{LIMIT, Server, is_busy, lock_key, ms, take, terms, timed, until};
use sluice_lock::{Locks, Lost, Released, Terms, Wait};
use std::time::Duration;

#[tokio::test]
async fn check_1_a_lock_is_taken_in_one_command_with_its_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    server.ask::<()>(&["CONFIG", "RESETSTAT"]).await;
    let _guard = take(&locks, "a", terms(5_000)).await;
    let statistics: String = server.ask(&["INFO", "commandstats"]).await;
    assert!(statistics.contains("cmdstat_set:calls=1,"), "{statistics}");
    for other in ["setnx", "expire", "pexpire", "evalsha", "multi"] {
        assert!(!statistics.contains(&format!("cmdstat_{other}:")), "{statistics}");
    }
    let ttl: i64 = server.ask(&["PTTL", &lock_key("a")]).await;
    assert!((1..=5_000).contains(&ttl), "{ttl}");
}

#[tokio::test]
async fn check_2_a_second_taker_is_refused() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = take(&locks, "a", terms(5_000)).await;
    let before: String = server.ask(&["GET", &lock_key("a")]).await;
    let lock = server.locks().await.simple("a", terms(5_000)).unwrap();
    assert!(is_busy(&lock.acquire(Wait::none()).await));
    let (took, outcome) = timed(lock.acquire(Wait::up_to(ms(80)))).await;
    assert!(is_busy(&outcome) && took >= ms(80), "{took:?}");
    assert_eq!(server.ask::<String>(&["GET", &lock_key("a")]).await, before, "a refusal changes nothing");
    assert!(locks.simple("b", terms(5_000)).unwrap().acquire(Wait::none()).await.is_ok(), "another name is free");
    assert!(guard.remaining() > Duration::ZERO);
}

#[tokio::test]
async fn check_3_a_wrong_token_releases_and_renews_nothing() {
    let server = Server::start().await;
    let guard = take(&server.locks().await, "a", terms(5_000)).await;
    server.ask::<()>(&["SET", &lock_key("a"), "another", "PX", "60000"]).await;
    assert!(!guard.renew().await.unwrap());
    assert_eq!(guard.release().await.unwrap(), Released::Lapsed);
    assert_eq!(server.ask::<String>(&["GET", &lock_key("a")]).await, "another");
    assert!(server.ask::<i64>(&["PTTL", &lock_key("a")]).await > 5_000);
}

#[tokio::test]
async fn check_4_the_right_token_releases() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = take(&locks, "a", terms(60_000)).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    assert!(server.is_free("a").await);
    drop(take(&locks, "a", terms(60_000)).await);
    server.until_free("a").await;
}

#[tokio::test]
async fn check_5_a_lock_ends_by_itself() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = take(&locks, "a", terms(150)).await;
    let (waited, next) = timed(take(&locks, "a", terms(5_000))).await;
    assert!(waited >= ms(100), "{waited:?}");
    assert_eq!(guard.remaining(), Duration::ZERO);
    assert!(!guard.renew().await.unwrap(), "a lapsed lease is not revived");
    assert_eq!(next.release().await.unwrap(), Released::Freed);
}

/// CASES: ShedLock 2583.
#[tokio::test]
async fn r_shedlock_2583_releasing_a_lapsed_lock_leaves_the_next_owners_alone() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let (released, dropped) = (take(&locks, "a", terms(60)).await, take(&locks, "b", terms(60)).await);
    let next = [take(&locks, "a", terms(60_000)).await, take(&locks, "b", terms(60_000)).await];
    let released = released.release().await.unwrap();
    assert_eq!(released, Released::Lapsed);
    assert!(!released.was_held());
    server.ask::<()>(&["CONFIG", "RESETSTAT"]).await;
    drop(dropped);
    until("the drop has told Redis", || async {
        server.ask::<String>(&["INFO", "commandstats"]).await.contains("cmdstat_evalsha:")
    })
    .await;
    for guard in next {
        assert_eq!(guard.release().await.unwrap(), Released::Freed);
    }
}

#[tokio::test]
async fn slow_work_is_told_that_its_lease_is_over() {
    let server = Server::start().await;
    let guard = take(&server.locks().await, "a", terms(150)).await;
    let (took, outcome) = timed(guard.while_held(std::future::pending::<()>())).await;
    assert_eq!(outcome, Err(Lost));
    assert!(took > ms(100) && took < ms(1_500), "{took:?}");
    assert_eq!(guard.remaining(), Duration::ZERO);
    server.until_free("a").await;
    assert_eq!(guard.release().await.unwrap(), Released::Lapsed);
}

#[tokio::test]
async fn a_lease_can_be_renewed_by_hand() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = take(&locks, "a", terms(300)).await;
    let work = async {
        for _ in 0..6 {
            tokio::time::sleep(ms(100)).await;
            assert!(guard.renew().await.unwrap());
        }
    };
    guard.while_held(work).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn an_acquisition_that_is_cancelled_leaves_no_lock() {
    let server = Server::start().await;
    let lock = server.locks().await.simple("a", terms(600_000)).unwrap();
    // The scripts are known, so that the release is one call.
    lock.acquire(Wait::none()).await.unwrap().release().await.unwrap();
    server.ask::<()>(&["CONFIG", "RESETSTAT"]).await;
    server.freeze();
    let patience = tokio::time::timeout(ms(100), lock.acquire(Wait::up_to(LIMIT))).await;
    assert!(patience.is_err(), "Redis is frozen");
    server.thaw();
    until("the attempt is taken back", || async {
        let statistics: String = server.ask(&["INFO", "commandstats"]).await;
        statistics.contains("cmdstat_set:calls=1,") && statistics.contains("cmdstat_evalsha:calls=1,")
    })
    .await;
    assert!(server.is_free("a").await);
}

#[tokio::test]
async fn an_answer_that_was_lost_leaves_no_lock() {
    let server = Server::start().await;
    let locks = server.locks().await.with_timeout(ms(100)).unwrap();
    let lock = locks.simple("a", terms(600_000)).unwrap();
    server.freeze();
    assert!(crate::support::is_unavailable(&lock.acquire(Wait::up_to(LIMIT)).await), "at once, without waiting");
    server.thaw();
    until("the attempt is taken back", || async {
        let statistics: String = server.ask(&["INFO", "commandstats"]).await;
        statistics.contains("cmdstat_set:calls=1,") && statistics.contains("cmdstat_eval")
    })
    .await;
    server.until_free("a").await;
}

#[tokio::test]
async fn scripts_that_redis_forgot_are_sent_again() {
    let server = Server::start().await;
    let locks = server.locks().await;
    for _ in 0..2 {
        let guard = take(&locks, "a", terms(60_000).fenced()).await;
        server.ask::<()>(&["SCRIPT", "FLUSH"]).await;
        assert_eq!(guard.release().await.unwrap(), Released::Freed);
    }
}

#[tokio::test]
async fn numbers_grow_even_after_redis_forgot_the_last_one() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let mut last = None;
    for round in 0..20 {
        if round % 5 == 4 {
            server.ask::<()>(&["FLUSHALL"]).await;
        }
        let guard = take(&locks, "a", terms(60_000).fenced()).await;
        assert!(guard.fence() > last, "{:?} after {last:?}", guard.fence());
        last = guard.fence();
        guard.release().await.unwrap();
    }
    let far = last.unwrap().number() + 1_000_000_000_000;
    server.ask::<()>(&["SET", "test:fence:{a}", &far.to_string()]).await;
    let guard = take(&locks, "a", terms(60_000).fenced()).await;
    assert_eq!(guard.fence().unwrap().number(), far + 1, "a clock that was set back does not matter");
    assert_eq!(take(&locks, "b", terms(60_000)).await.fence(), None);
}

#[tokio::test]
async fn what_can_never_be_a_lock_is_refused_before_redis_is_asked() {
    let server = Server::start().await;
    let locks = server.locks().await;
    server.ask::<()>(&["CONFIG", "RESETSTAT"]).await;
    assert!(Terms::new(Duration::ZERO).is_err());
    assert!(Terms::new(Duration::MAX).is_err());
    assert!(locks.simple("", terms(100)).is_err());
    assert!(locks.fair("a b", terms(100)).is_err());
    assert!(Locks::new(server.connection().await, "").is_err());
    let keys: Vec<String> = server.ask(&["KEYS", "*"]).await;
    assert!(keys.is_empty(), "{keys:?}");
}
