//! Redis away: an answer of its own, at once, and a lock again when it is back.

use crate::support::{LIMIT, Server, is_unavailable, take, terms, timed, until};
use sluice_lock::Wait;
use std::time::Duration;

#[tokio::test]
async fn locks_without_redis_are_unavailable_and_not_busy() {
    let mut server = Server::start().await;
    let lock = server.locks().await.simple("a", terms(5_000)).unwrap();
    server.kill();
    let (took, outcome) = timed(lock.acquire(Wait::up_to(LIMIT))).await;
    assert!(is_unavailable(&outcome), "{outcome:?}");
    assert!(took < Duration::from_secs(5), "it is not waited for: {took:?}");
    server.restart().await;
    until("locks are back", || async { lock.acquire(Wait::none()).await.is_ok() }).await;
}

#[tokio::test]
async fn a_release_that_redis_does_not_hear_says_so() {
    let mut server = Server::start().await;
    let guard = take(&server.locks().await, "a", terms(5_000)).await;
    server.kill();
    assert!(guard.release().await.is_err());
}
