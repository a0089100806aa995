//! Work of unknown length: the lease is renewed while it runs, and the work is dropped when the lease is lost.
//!
//!     cargo run -p sluice-lock --example watchdog -- redis://127.0.0.1:6379

use sluice_lock::{Locks, Lost, Terms, Wait};
use std::time::Duration;

/// What became of work that takes five leases, and of work whose lock somebody deleted.
pub async fn run(redis: &str) -> anyhow::Result<(Result<&'static str, Lost>, Result<&'static str, Lost>)> {
    let mut connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let terms = Terms::new(Duration::from_millis(300))?.renewed_up_to(Duration::from_secs(60))?;
    let lock = Locks::new(connection.clone(), "example")?.simple("import", terms)?;

    let guard = lock.acquire(Wait::up_to(Duration::from_secs(5))).await?;
    let work = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        "imported"
    };
    let done = guard.while_held(work).await;
    guard.release().await?;

    let guard = lock.acquire(Wait::up_to(Duration::from_secs(5))).await?;
    redis::cmd("DEL").arg("example:lock:{import}").query_async::<i64>(&mut connection).await?;
    let lost = guard.while_held(std::future::pending()).await;
    Ok((done, lost))
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let (done, lost) = run(&redis).await?;
    println!("five leases later: {done:?}; without its lock: {lost:?}");
    Ok(())
}
