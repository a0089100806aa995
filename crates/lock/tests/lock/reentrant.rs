//! One owner, many levels, one lease.

use crate::support::{LIMIT, Server, is_busy, is_unavailable, lock_key, ms, take, terms, until};
use sluice_lock::{Owner, Reentrant, Released, Terms, Wait};

async fn lock(server: &Server, owner: &Owner, terms: Terms) -> Reentrant {
    server.locks().await.reentrant("a", owner, terms).unwrap()
}

#[tokio::test]
async fn a_release_gives_back_one_level_and_the_last_one_frees() {
    let server = Server::start().await;
    let (owner, stranger) = (Owner::random().unwrap(), Owner::random().unwrap());
    let mine = lock(&server, &owner, terms(10_000).fenced()).await;
    let theirs = lock(&server, &stranger, terms(10_000)).await;
    let levels = [(); 3].map(|()| mine.acquire(Wait::none()));
    let levels = futures_util::future::join_all(levels).await;
    let fences: Vec<_> = levels.iter().map(|guard| guard.as_ref().unwrap().fence()).collect();
    assert!(fences[0].is_some() && fences.iter().all(|fence| *fence == fences[0]), "{fences:?}");
    let mut left = 3;
    for level in levels {
        assert!(is_busy(&theirs.acquire(Wait::none()).await), "with {left} levels");
        left -= 1;
        let expected = if left == 0 { Released::Freed } else { Released::Inner { levels: left } };
        assert_eq!(level.unwrap().release().await.unwrap(), expected);
    }
    assert!(server.is_free("a").await);
    assert!(theirs.acquire(Wait::none()).await.is_ok());
    let again = mine.acquire(Wait::up_to(LIMIT)).await.unwrap();
    assert!(again.fence() > fences[0], "a new hold has a new number");
}

#[tokio::test]
async fn all_levels_share_one_key_and_one_ttl_that_is_never_shortened() {
    let server = Server::start().await;
    let owner = Owner::random().unwrap();
    let ttl = async || -> i64 { server.ask(&["PTTL", &lock_key("a")]).await };
    let outer = lock(&server, &owner, terms(500)).await.acquire(Wait::none()).await.unwrap();
    let long = lock(&server, &owner, terms(60_000)).await.acquire(Wait::none()).await.unwrap();
    assert!(ttl().await > 50_000);
    let short = lock(&server, &owner, terms(200)).await.acquire(Wait::none()).await.unwrap();
    assert!(outer.renew().await.unwrap());
    assert!(ttl().await > 50_000, "another level relies on it");
    assert_eq!(server.ask::<Vec<String>>(&["KEYS", "*"]).await, [lock_key("a")]);
    for guard in [short, long] {
        guard.release().await.unwrap();
    }
    assert_eq!(outer.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_level_of_a_lapsed_lease_gives_nothing_back_from_the_next() {
    let server = Server::start().await;
    let owner = Owner::random().unwrap();
    let lapsed = lock(&server, &owner, terms(1_000)).await.acquire(Wait::none()).await.unwrap();
    server.until_free("a").await;
    let next = lock(&server, &owner, terms(10_000)).await.acquire(Wait::none()).await.unwrap();
    assert!(!lapsed.renew().await.unwrap());
    assert_eq!(lapsed.release().await.unwrap(), Released::Lapsed);
    assert!(!server.is_free("a").await);
    assert_eq!(next.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn an_inner_level_that_is_dropped_is_given_back_alone() {
    let server = Server::start().await;
    let owner = Owner::random().unwrap();
    let outer = lock(&server, &owner, terms(10_000)).await.acquire(Wait::none()).await.unwrap();
    drop(lock(&server, &owner, terms(10_000)).await.acquire(Wait::none()).await.unwrap());
    // Owner, fence, one level.
    until("the inner level is gone", || async { server.ask::<i64>(&["HLEN", &lock_key("a")]).await == 3 }).await;
    assert_eq!(outer.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_watchdog_renews_a_reentrant_lock() {
    let server = Server::start().await;
    let owner = Owner::random().unwrap();
    let renewed = terms(300).renewed_up_to(LIMIT).unwrap();
    let guard = lock(&server, &owner, renewed).await.acquire(Wait::none()).await.unwrap();
    guard.while_held(tokio::time::sleep(ms(1_200))).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn kinds_that_share_a_name_never_both_hold() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let reentrant = lock(&server, &Owner::random().unwrap(), terms(10_000)).await;
    let fair = locks.fair("a", terms(10_000)).unwrap();
    let guard = take(&locks, "a", terms(10_000)).await;
    assert!(is_unavailable(&reentrant.acquire(Wait::none()).await), "a mistake that is told of");
    assert!(is_busy(&fair.acquire(Wait::none()).await));
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let guard = reentrant.acquire(Wait::none()).await.unwrap();
    assert!(is_busy(&locks.simple("a", terms(10_000)).unwrap().acquire(Wait::none()).await));
    assert!(is_unavailable(&fair.acquire(Wait::none()).await));
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    // A lease that lapsed, and whose name another kind has now, is only lapsed.
    let lapsed = take(&locks, "a", terms(50)).await;
    server.until_free("a").await;
    let _next = reentrant.acquire(Wait::none()).await.unwrap();
    assert_eq!(lapsed.release().await.unwrap(), Released::Lapsed);
}
