//! First come, first served: each waiter hears how many are before it.
//!
//!     cargo run -p sluice-lock --example fair -- redis://127.0.0.1:6379

use sluice_lock::{Locks, Terms, Wait};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// In which order three waiters were served who came as 1, 2 and 3.
pub async fn run(redis: &str) -> anyhow::Result<Vec<u64>> {
    let connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let lock = Locks::new(connection, "example")?.fair("desk", Terms::new(Duration::from_secs(5))?)?;
    let (served, mut waiters) = (Arc::new(Mutex::new(Vec::new())), Vec::new());
    let first = lock.acquire(Wait::up_to(Duration::from_secs(5))).await?;
    for n in 1..=3u64 {
        let (lock, served) = (lock.clone(), Arc::clone(&served));
        let (came, comes) = tokio::sync::oneshot::channel();
        let mut came = Some(came);
        waiters.push(tokio::spawn(async move {
            // The first report says that it stands in the queue.
            let report = |_before| {
                if let Some(came) = came.take() {
                    let _ = came.send(());
                }
            };
            let guard = lock.acquire_reporting(Wait::up_to(Duration::from_secs(30)), report).await?;
            if let Ok(mut served) = served.lock() {
                served.push(n);
            }
            guard.release().await?;
            anyhow::Ok(())
        }));
        comes.await?;
    }
    first.release().await?;
    for waiter in waiters {
        waiter.await??;
    }
    let served = served.lock().map(|served| served.clone());
    Ok(served.unwrap_or_default())
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    println!("served in this order: {:?}", run(&redis).await?);
    Ok(())
}
