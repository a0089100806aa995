//! Code that calls itself through layers: its owner takes the lock again, and the last level frees it.
//!
//!     cargo run -p sluice-lock --example reentrant -- redis://127.0.0.1:6379

use sluice_lock::{Locks, Owner, Reentrant, Terms, Wait};
use std::time::Duration;

async fn inner(lock: &Reentrant) -> anyhow::Result<()> {
    let level = lock.acquire(Wait::none()).await?;
    level.release().await?;
    Ok(())
}

/// Whether another owner had to wait for the outer level, and had the lock after it.
pub async fn run(redis: &str) -> anyhow::Result<(bool, bool)> {
    let connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let locks = Locks::new(connection, "example")?;
    let terms = Terms::new(Duration::from_secs(5))?;
    let mine = locks.reentrant("stock-take", &Owner::random()?, terms)?;
    let theirs = locks.reentrant("stock-take", &Owner::random()?, terms)?;

    let outer = mine.acquire(Wait::up_to(Duration::from_secs(2))).await?;
    inner(&mine).await?;
    let waits = theirs.acquire(Wait::none()).await.is_err();
    outer.release().await?;
    let next = theirs.acquire(Wait::none()).await;
    Ok((waits, next.is_ok()))
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let (waits, next) = run(&redis).await?;
    println!("another waits while any level is held: {waits}; and has it afterwards: {next}");
    Ok(())
}
