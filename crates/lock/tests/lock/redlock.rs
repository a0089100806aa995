//! Five servers: two may be dead, frozen, slow, or have a clock that jumps.

use crate::sql::Sql;
use crate::support::{LIMIT, PREFIX, Server, is_busy, is_unavailable, lock_key, ms, terms, timed, until};
use futures_util::future::join_all;
use redis::aio::ConnectionManager;
use sluice_lock::{Fault, Invalid, Lost, NotAcquired, Released, Servers, Terms, Wait};

async fn five() -> Vec<Server> {
    join_all((0..5).map(|_| Server::start())).await
}

async fn connections(servers: &[Server]) -> Vec<ConnectionManager> {
    join_all(servers.iter().map(Server::connection)).await
}

async fn redlock(servers: &[Server], terms: Terms) -> sluice_lock::Redlock {
    let servers = Servers::new(connections(servers).await, PREFIX).unwrap().with_timeout(ms(1_000)).unwrap();
    servers.redlock("a", terms).unwrap()
}

async fn holders(servers: &[Server]) -> usize {
    let free = join_all(servers.iter().map(|server| server.is_free("a"))).await;
    free.into_iter().filter(|free| !free).count()
}

#[tokio::test]
async fn an_even_number_of_servers_or_fewer_than_three_cannot_vote() {
    let server = Server::start().await;
    let connection = server.connection().await;
    for n in [0, 1, 2, 4, 6] {
        let refused = Servers::new(vec![connection.clone(); n], PREFIX).map(|_| ());
        assert_eq!(refused, Err(Invalid::Servers(n)));
    }
}

#[tokio::test]
async fn a_lock_is_in_all_servers_and_is_released_in_all() {
    let servers = five().await;
    let (mine, theirs) = (redlock(&servers, terms(10_000)).await, redlock(&servers, terms(10_000)).await);
    let guard = mine.acquire(Wait::none()).await.unwrap();
    until("all have it", || async { holders(&servers).await == 5 }).await;
    assert!(guard.remaining() < ms(10_000 - 100), "less than the ttl, by what clocks may drift");
    assert!(is_busy(&theirs.acquire(Wait::none()).await));
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    until("none has it", || async { holders(&servers).await == 0 }).await;
    assert!(theirs.acquire(Wait::up_to(LIMIT)).await.is_ok());
}

#[tokio::test]
async fn two_dead_servers_of_five_do_not_matter_and_three_do() {
    let mut servers = five().await;
    let (mine, theirs) = (redlock(&servers, terms(10_000)).await, redlock(&servers, terms(10_000)).await);
    servers[0].kill();
    servers[3].kill();
    let guard = mine.acquire(Wait::none()).await.unwrap();
    assert!(is_busy(&theirs.acquire(Wait::none()).await), "an outage of two is not an outage");
    assert!(guard.renew().await.unwrap());
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let guard = theirs.acquire(Wait::up_to(LIMIT)).await.unwrap();
    servers[4].kill();
    let outcome = mine.acquire(Wait::up_to(LIMIT)).await;
    let is_no_quorum = |fault: &Fault| matches!(fault, Fault::NoQuorum { needed: 3, servers: 5, .. });
    assert!(matches!(&outcome, Err(NotAcquired::Unavailable(fault)) if is_no_quorum(fault)), "{outcome:?}");
    assert!(is_no_quorum(&guard.release().await.unwrap_err()));
    // What agreed is told to forget it.
    servers[0].restart().await;
    until("a majority works again", || async { mine.acquire(Wait::none()).await.is_ok() }).await;
}

#[tokio::test]
async fn two_frozen_servers_of_five_do_not_matter_and_three_do() {
    let servers = five().await;
    let lock = redlock(&servers, terms(10_000)).await;
    servers[1].freeze();
    servers[2].freeze();
    let (took, guard) = timed(lock.acquire(Wait::none())).await;
    assert!(took < ms(1_000), "a majority is enough, the frozen are not waited for: {took:?}");
    assert_eq!(guard.unwrap().release().await.unwrap(), Released::Freed);
    servers[0].freeze();
    assert!(is_unavailable(&lock.acquire(Wait::none()).await));
    servers.iter().for_each(Server::thaw);
    until("what they were asked while frozen is taken back", || async { holders(&servers).await == 0 }).await;
}

#[tokio::test]
async fn a_lock_that_took_longer_than_its_lease_is_refused() {
    let servers = five().await;
    let lock = redlock(&servers, terms(100)).await;
    for server in &servers {
        server.ask::<()>(&["CLIENT", "PAUSE", "200", "WRITE"]).await;
    }
    let outcome = lock.acquire(Wait::none()).await;
    assert!(matches!(outcome, Err(NotAcquired::Unavailable(Fault::TooSlow(_)))), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contenders_lose_no_count_while_two_servers_are_frozen() {
    let (servers, sql) = (five().await, Sql::open().await);
    let lock = redlock(&servers, terms(10_000).fenced()).await;
    servers[0].freeze();
    servers[4].freeze();
    join_all((0..30).map(async |_| {
        let guard = lock.acquire(Wait::up_to(LIMIT)).await.unwrap();
        assert!(sql.passes(guard.fence().unwrap().signed()).await, "a number was not larger than those before");
        sql.count_carelessly().await;
        assert!(guard.release().await.unwrap().was_held());
    }))
    .await;
    assert_eq!(sql.value().await, 30);
    servers.iter().for_each(Server::thaw);
}

/// The largest number comes from a server that is gone when the next holder asks.
#[tokio::test]
async fn numbers_grow_whichever_majority_answers() {
    let mut servers = five().await;
    let lock = redlock(&servers, terms(10_000).fenced()).await;
    let far = lock.acquire(Wait::none()).await.unwrap().fence().unwrap().number() + 1_000_000_000_000;
    until("it is free", || async { holders(&servers).await == 0 }).await;
    servers[0].ask::<()>(&["SET", &format!("{PREFIX}:fence:{{a}}"), &far.to_string()]).await;
    servers[3].freeze();
    servers[4].freeze();
    let first = lock.acquire(Wait::none()).await.unwrap();
    assert_eq!(first.fence().unwrap().number(), far + 1);
    first.release().await.unwrap();
    servers[0].kill();
    servers[3].thaw();
    servers[4].thaw();
    let second = lock.acquire(Wait::up_to(LIMIT)).await.unwrap();
    assert!(second.fence().unwrap().number() > far + 1, "{:?}", second.fence());
}

#[tokio::test]
async fn a_watchdog_renews_a_majority_and_loses_without_one() {
    let servers = five().await;
    let lock = redlock(&servers, terms(900).renewed_up_to(LIMIT).unwrap()).await;
    servers[2].freeze();
    let guard = lock.acquire(Wait::none()).await.unwrap();
    guard.while_held(tokio::time::sleep(ms(2_500))).await.expect("renewed by four");
    servers[2].thaw();
    for server in &servers[..3] {
        server.ask::<i64>(&["DEL", &lock_key("a")]).await;
    }
    let (took, outcome) = timed(guard.while_held(std::future::pending::<()>())).await;
    assert_eq!(outcome, Err(Lost), "three no longer have it");
    assert!(took < ms(900), "{took:?}");
}
