//! Holders that die: by a kill, by the end of their runtime, and one that is frozen and comes back.

use crate::sql::Sql;
use crate::support::{LIMIT, Server, lock_key, ms, send, take, terms, timed, until};
use nix::sys::signal::Signal;
use sluice_lock::Released;
use std::process::{Child, Command, Stdio};

const HOLDER: &str = "SLUICE_LOCK_TEST_HOLDER";
const TTL: u64 = 700;

/// Another process that takes the lock, renews it, and never gives it up: this test binary again.
struct Holder(Child);

impl Holder {
    async fn start(server: &Server) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::a_process_that_holds", "--ignored", "--nocapture"])
            .env(HOLDER, server.url())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let holder = Self(child);
        until("the other process holds the lock", || async { !server.is_free("a").await }).await;
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
#[ignore = "the other process of the tests below"]
async fn a_process_that_holds() {
    let Ok(url) = std::env::var(HOLDER) else { return };
    let connection = redis::Client::open(url).unwrap().get_connection_manager().await.unwrap();
    let locks = sluice_lock::Locks::new(connection, crate::support::PREFIX).unwrap();
    let guard = take(&locks, "a", terms(TTL).fenced().renewed_up_to(ms(600_000)).unwrap()).await;
    // Its standing, for all to see: in a list that ends when the lease was lost.
    guard.lost().cancelled().await;
    let connection = redis::Client::open(std::env::var(HOLDER).unwrap()).unwrap();
    let mut connection = connection.get_multiplexed_async_connection().await.unwrap();
    let number = guard.fence().unwrap().number();
    redis::cmd("SET").arg("noticed").arg(number).query_async::<()>(&mut connection).await.unwrap();
}

#[tokio::test]
async fn a_killed_holder_blocks_for_its_ttl_and_no_longer() {
    let server = Server::start().await;
    let holder = Holder::start(&server).await;
    tokio::time::sleep(ms(2 * TTL)).await;
    assert!(!server.is_free("a").await, "it renews while it lives");
    drop(holder);
    let (waited, guard) = timed(take(&server.locks().await, "a", terms(5_000))).await;
    assert!(waited <= ms(TTL + 3_000), "{waited:?}");
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_holder_that_was_frozen_finds_its_lock_gone_and_its_number_refused() {
    let (server, sql) = (Server::start().await, Sql::open().await);
    let holder = Holder::start(&server).await;
    send(&holder.0, Signal::SIGSTOP);
    let guard = take(&server.locks().await, "a", terms(60_000).fenced()).await;
    let newer = guard.fence().unwrap();
    assert!(sql.passes(newer.signed()).await);
    send(&holder.0, Signal::SIGCONT);
    until("the frozen holder notices", || async { server.ask::<i64>(&["EXISTS", "noticed"]).await == 1 }).await;
    let older: i64 = server.ask(&["GET", "noticed"]).await;
    assert!(older < newer.signed());
    assert!(!sql.passes(older).await, "what it would write now is refused");
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
}

#[test]
fn a_runtime_that_ends_leaves_its_lock_to_the_ttl() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let server = second.block_on(Server::start());
    let guard =
        first.block_on(async { take(&server.locks().await, "a", terms(TTL).renewed_up_to(LIMIT).unwrap()).await });
    first.shutdown_background();
    drop(guard);
    second.block_on(async {
        assert!(server.ask::<i64>(&["PTTL", &lock_key("a")]).await > 0, "nobody could release it");
        let (waited, _next) = timed(take(&server.locks().await, "a", terms(5_000))).await;
        assert!(waited <= ms(TTL + 3_000), "{waited:?}");
    });
}
