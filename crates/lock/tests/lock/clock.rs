//! A server whose clock jumps, by Debian's faketime. Redis' expiry follows the clock of its machine.

use crate::support::{LIMIT, PREFIX, Server, is_busy, lock_key, ms, take, terms};
use futures_util::future::join_all;
use sluice_lock::{Released, Servers, Wait};
use std::path::Path;
use tempfile::TempDir;
use xtask::tools::ensure_library;

/// A redis-server and the file that its clock follows.
struct Stepped {
    server: Server,
    folder: TempDir,
}

impl Stepped {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clock");
        set(&file, "+0");
        // faketime waits for ever inside jemalloc's start, so another allocator comes before it.
        let preload = [("libmimalloc.so.2", "libmimalloc2.0"), ("faketime/libfaketime.so.1", "faketime")]
            .map(|(file, package)| ensure_library(file, package).unwrap().to_string_lossy().into_owned());
        let environment = [
            ("LD_PRELOAD", preload.join(":")),
            ("FAKETIME_TIMESTAMP_FILE", file.to_string_lossy().into_owned()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Self { server: Server::start_with(environment).await, folder }
    }

    /// Moves the clock by so many seconds from the true time.
    fn step(&self, seconds: &str) {
        set(&self.folder.path().join("clock"), seconds);
    }
}

fn set(file: &Path, seconds: &str) {
    std::fs::write(file, format!("{seconds}\n")).unwrap();
}

#[tokio::test]
async fn one_clock_of_five_that_jumps_gives_nobody_the_lock() {
    let mut servers: Vec<Server> = join_all((0..4).map(|_| Server::start())).await;
    let Stepped { server, folder } = Stepped::start().await;
    servers.push(server);
    let connections = join_all(servers.iter().map(Server::connection)).await;
    let all = Servers::new(connections, PREFIX).unwrap().with_timeout(ms(2_000)).unwrap();
    let lock = all.redlock("a", terms(30_000).fenced()).unwrap();
    let guard = lock.acquire(Wait::none()).await.unwrap();
    for step in ["+3600", "-3600", "+7200"] {
        set(&folder.path().join("clock"), step);
        assert!(is_busy(&lock.acquire(Wait::up_to(ms(100))).await), "after a step of {step}");
    }
    let number = guard.fence();
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let next = lock.acquire(Wait::up_to(LIMIT)).await.unwrap();
    assert!(next.fence() > number, "{:?} after {number:?}", next.fence());
}

/// What one Redis cannot promise, and what its numbers are for.
#[tokio::test]
async fn a_clock_that_jumps_ends_a_lease_early_and_the_number_still_tells() {
    let stepped = Stepped::start().await;
    let locks = stepped.server.locks().await;
    let first = take(&locks, "a", terms(60_000).fenced()).await;
    stepped.step("+3600");
    assert_eq!(stepped.server.ask::<i64>(&["EXISTS", &lock_key("a")]).await, 0, "an hour is over, for Redis");
    let second = take(&locks, "a", terms(60_000).fenced()).await;
    assert!(first.remaining() > ms(1_000), "the first holder cannot know");
    assert!(first.fence() < second.fence());
    stepped.step("-3600");
    assert_eq!(first.release().await.unwrap(), Released::Lapsed);
    let number = second.fence();
    assert_eq!(second.release().await.unwrap(), Released::Freed);
    let third = take(&locks, "a", terms(60_000).fenced()).await;
    assert!(third.fence() > number, "two hours back, and still a larger number");
}
