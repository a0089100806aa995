//! One holder at a time: the second is refused while the first works, and has the lock afterwards.
//!
//!     cargo run -p sluice-lock --example simple -- redis://127.0.0.1:6379

use sluice_lock::{Locks, NotAcquired, Terms, Wait};
use std::time::Duration;

/// Whether a second holder was refused meanwhile, and whether the first had the lock until it released it.
pub async fn run(redis: &str) -> anyhow::Result<(bool, bool)> {
    let connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let lock = Locks::new(connection, "example")?.simple("report", Terms::new(Duration::from_secs(5))?)?;
    let guard = lock.acquire(Wait::up_to(Duration::from_secs(2))).await?;
    let refused = match lock.acquire(Wait::none()).await {
        Err(NotAcquired::Busy { .. }) => true,
        // Redis did not answer: here is decided what to do without locks.
        Err(NotAcquired::Unavailable(fault)) => return Err(fault.into()),
        Err(other) => return Err(other.into()),
        Ok(_) => false,
    };
    let was_held = guard.release().await?.was_held();
    lock.acquire(Wait::none()).await?.release().await?;
    Ok((refused, was_held))
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let (refused, was_held) = run(&redis).await?;
    println!("the second holder was refused: {refused}; the first had it all the time: {was_held}");
    Ok(())
}
