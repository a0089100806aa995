//! A lock in several independent servers, of which a minority may be away.
//!
//!     cargo run -p sluice-lock --example redlock -- redis://127.0.0.1:6379 redis://127.0.0.1:6380 redis://127.0.0.1:6381

use sluice_lock::{NotAcquired, Servers, Terms, Wait};
use std::time::Duration;

/// For how long the lock was surely held, and whether another was refused meanwhile.
pub async fn run(servers: &[String]) -> anyhow::Result<(Duration, bool)> {
    let mut connections = Vec::new();
    for url in servers {
        connections.push(redis::Client::open(url.as_str())?.get_connection_manager().await?);
    }
    // How long one server may take: a frozen one costs so long.
    let servers = Servers::new(connections, "example")?.with_timeout(Duration::from_secs(1))?;
    let lock = servers.redlock("nightly", Terms::new(Duration::from_secs(10))?)?;
    let guard = lock.acquire(Wait::up_to(Duration::from_secs(5))).await?;
    // The ttl, less the time it took to get and what the servers' clocks may drift.
    let held = guard.remaining();
    let refused = matches!(lock.acquire(Wait::none()).await, Err(NotAcquired::Busy { .. }));
    guard.release().await?;
    Ok((held, refused))
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let servers: Vec<String> = std::env::args().skip(1).collect();
    anyhow::ensure!(servers.len() >= 3, "three servers or more, an odd number: redis://host:port …");
    let (held, refused) = run(&servers).await?;
    println!("surely held for {held:?}; another was refused meanwhile: {refused}");
    Ok(())
}
