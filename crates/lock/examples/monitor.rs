//! Histograms of waits and holds, a warning of what is held too long, and a lock that nothing would ever free.
//!
//!     cargo run -p sluice-lock --example monitor -- redis://127.0.0.1:6379

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use sluice_lock::{Locks, Monitor, Terms, Wait};
use std::time::Duration;

/// How many holds were too long, the locks without a TTL, and the metrics as Prometheus reads them.
pub async fn run(redis: &str) -> anyhow::Result<(usize, Vec<String>, String)> {
    let mut connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let monitor = Monitor::new(Duration::from_millis(50));
    let mut registry = Registry::with_prefix("shop");
    monitor.register(&mut registry);
    let locks = Locks::new(connection.clone(), "example-monitor")?.with_monitor(&monitor);

    let lock = locks.simple("slow", Terms::new(Duration::from_secs(5))?)?;
    let guard = lock.acquire(Wait::up_to(Duration::from_secs(2))).await?;
    tokio::time::sleep(Duration::from_millis(80)).await;
    // A service does this again and again: `tokio::spawn(monitor.watch(every))`.
    let too_long = monitor.check();
    guard.release().await?;

    // As another program may leave it behind.
    let stray = "example-monitor:lock:{stray}";
    redis::cmd("SET").arg(stray).arg("x").query_async::<()>(&mut connection).await?;
    let mut scan = locks.scan();
    let found = loop {
        let step = scan.step(1_000).await?;
        if step.finished {
            break step.without_ttl;
        }
    };
    redis::cmd("DEL").arg(stray).query_async::<()>(&mut connection).await?;

    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok((too_long, found, text))
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let (too_long, found, text) = run(&redis).await?;
    println!("held too long: {too_long}; without a TTL: {found:?}\n{text}");
    Ok(())
}
