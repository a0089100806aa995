//! What the tests stand on: a Redis, an origin, a client that signs as the edge does, and eyes into both stores.

pub mod client;
pub mod cluster;
pub mod gateway;
pub mod products;
pub mod proxy;
pub mod redis;
pub mod shop;
pub mod sql;

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

pub use cluster::Cluster;
pub use shop::Shop;

/// Asks until it is so; after 20 s the test has failed.
#[allow(clippy::disallowed_methods)] // tests wait by the real clock
pub async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so().await {
        assert!(Instant::now() < end, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A port that nothing uses, below the range from which the system takes ports for outgoing connections.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = 12_000 + u16::try_from(std::process::id() % 18_000).unwrap();
    loop {
        let port = start + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
