//! Renewal while work runs, up to the longest hold; and that a lost lease is never silent.

use crate::support::{LIMIT, Server, is_busy, lock_key, ms, take, terms, timed};
use sluice_lock::{Lost, Released, Wait};
use std::time::Duration;

#[tokio::test]
async fn a_watchdog_holds_beyond_the_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = take(&locks, "a", terms(300).renewed_up_to(LIMIT).unwrap()).await;
    let contender = locks.simple("a", terms(300)).unwrap();
    let work = contender.acquire(Wait::up_to(ms(1_500)));
    let outcome = guard.while_held(work).await.expect("the lease lasts");
    assert!(is_busy(&outcome), "nobody else had it in five ttls");
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    assert!(server.is_free("a").await);
}

#[tokio::test]
async fn a_watchdog_stops_at_the_longest_hold() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = take(&locks, "a", terms(300).renewed_up_to(ms(800)).unwrap()).await;
    let (took, outcome) = timed(guard.while_held(std::future::pending::<()>())).await;
    assert_eq!(outcome, Err(Lost));
    assert!(took > ms(700) && took < ms(1_500), "{took:?}");
    let (waited, next) = timed(take(&locks, "a", terms(60_000))).await;
    assert!(waited < ms(2_000), "free soon after: {waited:?}");
    assert_eq!(guard.release().await.unwrap(), Released::Lapsed);
    assert_eq!(next.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_lock_taken_away_is_noticed_at_the_next_renewal() {
    let server = Server::start().await;
    let guard = take(&server.locks().await, "a", terms(900).renewed_up_to(LIMIT).unwrap()).await;
    server.ask::<()>(&["SET", &lock_key("a"), "another", "PX", "60000"]).await;
    let (took, outcome) = timed(guard.while_held(std::future::pending::<()>())).await;
    assert_eq!(outcome, Err(Lost));
    assert!(took < ms(800), "{took:?}");
    assert_eq!(server.ask::<String>(&["GET", &lock_key("a")]).await, "another");
}

#[tokio::test]
async fn a_lease_that_cannot_be_renewed_is_lost_before_it_ends() {
    let server = Server::start().await;
    let guard = take(&server.locks().await, "a", terms(600).renewed_up_to(LIMIT).unwrap()).await;
    server.freeze();
    let (took, outcome) = timed(guard.while_held(std::future::pending::<()>())).await;
    assert_eq!(outcome, Err(Lost));
    assert!(took < ms(2_000), "by this process' own clock, since Redis says nothing: {took:?}");
    assert_eq!(guard.remaining(), Duration::ZERO);
    server.thaw();
}

#[tokio::test]
async fn a_failed_renewal_is_tried_again_within_the_lease() {
    let server = Server::start().await;
    let locks = server.locks().await.with_timeout(ms(100)).unwrap();
    let guard = take(&locks, "a", terms(2_000).renewed_up_to(LIMIT).unwrap()).await;
    let work = async {
        server.freeze();
        // The first renewal, at a third of the ttl, fails.
        tokio::time::sleep(ms(1_000)).await;
        server.thaw();
        tokio::time::sleep(ms(1_500)).await;
    };
    guard.while_held(work).await.expect("renewed later");
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn work_that_keeps_the_signal_sees_the_release_too() {
    let server = Server::start().await;
    let guard = take(&server.locks().await, "a", terms(60_000)).await;
    let lost = guard.lost();
    assert!(!lost.is_cancelled());
    guard.release().await.unwrap();
    assert!(lost.is_cancelled());
}
