//! What can never be a lock is an error of its own, and nothing is asked or written.

use crate::support::{Server, ms};
use sluice_lock::{Invalid, Locks, Owner, Servers, Terms};
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[tokio::test]
async fn names_prefixes_and_durations_that_are_none_are_refused_by_every_kind_and_nothing_is_written() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let servers = Servers::new([server.connection().await, server.connection().await, server.connection().await], "p");
    let (servers, owner) = (servers.unwrap(), Owner::random().unwrap());
    let before = commands(&server).await;
    for zero_or_absurd in [Duration::ZERO, ms(1), ms(19), YEAR, Duration::MAX] {
        assert!(matches!(Terms::new(zero_or_absurd), Err(Invalid::Duration { .. })), "{zero_or_absurd:?}");
    }
    let terms = Terms::new(ms(1_000)).unwrap();
    for longest in [Duration::ZERO, ms(999), YEAR, Duration::MAX] {
        assert!(matches!(terms.renewed_up_to(longest), Err(Invalid::Duration { .. })), "{longest:?}");
    }
    for timeout in [Duration::ZERO, YEAR, Duration::MAX] {
        assert!(matches!(locks.clone().with_timeout(timeout), Err(Invalid::Duration { .. })), "{timeout:?}");
        assert!(matches!(servers.clone().with_timeout(timeout), Err(Invalid::Duration { .. })), "{timeout:?}");
    }
    let fair = locks.fair("queue", terms).unwrap();
    for silence in [Duration::ZERO, ms(29), Duration::from_secs(61)] {
        assert!(matches!(fair.clone().with_silence(silence), Err(Invalid::Duration { .. })), "{silence:?}");
    }
    let long = "x".repeat(257);
    for name in ["", " ", "a b", "a\nb", "a\0", "{a}", "a}", long.as_str()] {
        let refused = [
            locks.simple(name, terms).err(),
            locks.reentrant(name, &owner, terms).err(),
            locks.fair(name, terms).err(),
            servers.redlock(name, terms).err(),
        ];
        let right = |fault: &Invalid| match name.len() {
            0 => *fault == Invalid::Empty("name"),
            257 => matches!(fault, Invalid::TooLong { .. }),
            _ => matches!(fault, Invalid::Character { .. }),
        };
        assert!(refused.iter().all(|fault| fault.as_ref().is_some_and(right)), "{name:?}: {refused:?}");
    }
    for prefix in ["", "a b", "a*", "{a}", &"x".repeat(65)] {
        assert!(Locks::new(server.connection().await, prefix).is_err(), "{prefix:?}");
        assert!(locks.clone().with_tag(prefix).is_err() || prefix == "a*", "{prefix:?}");
    }
    assert_eq!(server.ask::<i64>(&["DBSIZE"]).await, 0);
    assert_eq!(commands(&server).await, before, "no lock was asked for");
}

/// How often a command was run that takes or frees a lock.
async fn commands(server: &Server) -> Vec<String> {
    let told: String = server.ask(&["INFO", "commandstats"]).await;
    let of_locks =
        |line: &&str| ["set:", "eval", "del:"].iter().any(|name| line.starts_with(&format!("cmdstat_{name}")));
    told.lines().filter(of_locks).map(str::to_owned).collect()
}
