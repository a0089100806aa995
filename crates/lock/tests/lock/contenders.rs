//! A hundred at once: nobody's count is lost, and every number is larger than the one before.

use crate::sql::Sql;
use crate::support::{LIMIT, Server, terms};
use futures_util::future::join_all;
use sluice_lock::{Guard, Wait};

const CONTENDERS: usize = 100;

/// What each does with the lock in hand.
async fn count(sql: &Sql, guard: Guard) {
    assert!(sql.passes(guard.fence().unwrap().signed()).await, "a number was not larger than those before");
    sql.count_carelessly().await;
    assert!(guard.release().await.unwrap().was_held());
}

fn all() -> i64 {
    i64::try_from(CONTENDERS).unwrap()
}

#[tokio::test]
async fn without_a_lock_counts_are_lost() {
    let sql = Sql::open().await;
    join_all((0..CONTENDERS).map(|_| sql.count_carelessly())).await;
    assert!(sql.value().await < all(), "the counter cannot tell whether a lock works");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_contenders_lose_no_count() {
    let (server, sql) = (Server::start().await, Sql::open().await);
    let terms = terms(5_000).fenced().renewed_up_to(LIMIT).unwrap();
    let locks = server.locks().await;
    join_all((0..CONTENDERS).map(async |_| {
        let lock = locks.simple("counter", terms).unwrap();
        count(&sql, lock.acquire(Wait::up_to(LIMIT)).await.unwrap()).await;
    }))
    .await;
    assert_eq!(sql.value().await, all());
    assert!(server.is_free("counter").await);
}
