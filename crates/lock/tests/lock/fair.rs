//! First come, first served; the dead are skipped, and whoever gives up leaves.

use crate::sql::Sql;
use crate::support::{LIMIT, PREFIX, Server, is_busy, lock_key, ms, take, terms, timed, until};
use futures_util::future::join_all;
use sluice_lock::{Fair, Guard, Locks, Released, Wait};
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

fn lock(locks: &Locks) -> Fair {
    locks.fair("a", terms(10_000).fenced()).unwrap()
}

async fn queued(server: &Server) -> usize {
    server.ask(&["ZCARD", &format!("{PREFIX}:queue:{{a}}")]).await
}

/// Has `lock` waited for by a task, and comes back when the waiter stands in the queue behind `before` others.
async fn line_up<T: Send + 'static, W: Future<Output = T> + Send>(
    lock: Fair,
    before: u64,
    then: impl FnOnce(Guard) -> W + Send + 'static,
) -> JoinHandle<T> {
    let place = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&place);
    let task = tokio::spawn(async move {
        let report = move |n| *seen.lock().unwrap() = Some(n);
        then(lock.acquire_reporting(Wait::up_to(LIMIT), report).await.unwrap()).await
    });
    until("it stands in the queue", || async { *place.lock().unwrap() == Some(before) }).await;
    task
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_served_in_the_order_in_which_they_came_under_load() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let holder = lock(&locks).acquire(Wait::none()).await.unwrap();
    // Others that hammer the same server meanwhile.
    let noise = server.locks().await;
    let noise = tokio::spawn(async move {
        join_all((0..20).map(async |n| {
            loop {
                take(&noise, &format!("noise{}", n % 5), terms(1_000)).await.release().await.unwrap();
            }
        }))
        .await
    });
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for n in 0..50 {
        let order = Arc::clone(&order);
        // Every other one over a connection of its own.
        let locks = if n % 2 == 0 { locks.clone() } else { server.locks().await };
        let note = move |guard: Guard| async move {
            order.lock().unwrap().push(n);
            let fence = guard.fence().unwrap();
            assert_eq!(guard.release().await.unwrap(), Released::Freed);
            fence
        };
        waiters.push(line_up(lock(&locks), n, note).await);
    }
    assert_eq!(holder.release().await.unwrap(), Released::Freed);
    let fences: Vec<_> = join_all(waiters).await.into_iter().map(Result::unwrap).collect();
    noise.abort();
    assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
    assert!(fences.is_sorted(), "{fences:?}");
    assert_eq!(queued(&server).await, 0);
    assert!(server.is_free("a").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_contenders_lose_no_count() {
    let (server, sql) = (Server::start().await, Sql::open().await);
    let locks = server.locks().await;
    join_all((0..100).map(async |_| {
        let guard = lock(&locks).acquire(Wait::up_to(LIMIT)).await.unwrap();
        assert!(sql.passes(guard.fence().unwrap().signed()).await);
        sql.count_carelessly().await;
        assert!(guard.release().await.unwrap().was_held());
    }))
    .await;
    assert_eq!(sql.value().await, 100);
}

#[tokio::test]
async fn the_position_is_reported_until_it_is_ones_turn() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let holder = lock(&locks).acquire(Wait::none()).await.unwrap();
    let first = line_up(lock(&locks), 0, |guard| async { guard }).await;
    let second = line_up(lock(&locks), 1, |guard| async { guard }).await;
    let places = Arc::new(Mutex::new(Vec::new()));
    let (seen, third) = (Arc::clone(&places), lock(&locks));
    let third = tokio::spawn(async move {
        third.acquire_reporting(Wait::up_to(LIMIT), move |n| seen.lock().unwrap().push(n)).await.unwrap()
    });
    let reported = |expected: &'static [u64]| {
        let places = Arc::clone(&places);
        async move { until("the place is reported", || async { *places.lock().unwrap() == expected }).await }
    };
    reported(&[2]).await;
    drop(holder);
    let first = first.await.unwrap();
    reported(&[2, 1]).await;
    drop(first);
    let second = second.await.unwrap();
    reported(&[2, 1, 0]).await;
    drop(second);
    third.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn whoever_gives_up_or_is_cancelled_leaves_the_queue() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let holder = lock(&locks).acquire(Wait::none()).await.unwrap();
    assert!(is_busy(&lock(&locks).acquire(Wait::up_to(ms(60))).await));
    until("it has left", || async { queued(&server).await == 0 }).await;
    let cancelled = line_up(lock(&locks), 0, |guard| async { drop(guard) }).await;
    let next = line_up(lock(&locks), 1, |guard| async { guard.release().await.unwrap() }).await;
    cancelled.abort();
    until("it has left too", || async { queued(&server).await == 1 }).await;
    drop(holder);
    assert_eq!(next.await.unwrap(), Released::Freed);
}

#[test]
fn a_dead_waiter_is_skipped_after_its_own_silence() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (dies, lives) = (runtime(), runtime());
    let server = lives.block_on(Server::start());
    let locks = lives.block_on(server.locks());
    let holder = lives.block_on(lock(&locks).acquire(Wait::none())).unwrap();
    // It dies with its runtime, and so cannot leave the queue.
    let silence = 600;
    dies.block_on(async {
        let lock = lock(&server.locks().await).with_silence(ms(silence)).unwrap();
        drop(line_up(lock, 0, |guard| async { guard }).await);
    });
    dies.shutdown_timeout(LIMIT);
    lives.block_on(async {
        assert_eq!(queued(&server).await, 1, "it still stands there");
        holder.release().await.unwrap();
        let (waited, next) = timed(lock(&locks).acquire(Wait::up_to(LIMIT))).await;
        assert!(waited <= ms(silence + 5_000), "{waited:?}");
        assert_eq!(queued(&server).await, 0);
        next.unwrap().release().await.unwrap();
    });
}

#[tokio::test]
async fn what_a_queue_leaves_behind_ends_by_itself() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let _holder = lock(&locks).acquire(Wait::none()).await.unwrap();
    let _waiter = line_up(lock(&locks), 0, |guard| async { guard }).await;
    for kind in ["lock", "queue", "alive"] {
        let ttl: i64 = server.ask(&["PTTL", &format!("{PREFIX}:{kind}:{{a}}")]).await;
        assert!((1..=10_000).contains(&ttl), "{kind}: {ttl}");
    }
}

#[tokio::test]
async fn a_holder_that_dies_is_followed_by_the_next_in_the_queue() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let dies = locks.fair("a", terms(300)).unwrap().acquire(Wait::none()).await.unwrap();
    let next = line_up(lock(&locks), 0, |guard| async { guard.release().await.unwrap() }).await;
    assert_eq!(next.await.unwrap(), Released::Freed);
    assert_eq!(dies.release().await.unwrap(), Released::Lapsed);
    assert_eq!(server.ask::<i64>(&["EXISTS", &lock_key("a")]).await, 0);
}
