//! A client that costs little: requests written beforehand, answers counted by their length.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::programs::TOKEN;

/// Requests that clients send in turn.
pub(crate) struct Load {
    requests: Arc<Vec<Vec<u8>>>,
}

/// When a client stops.
#[derive(Clone)]
enum Until {
    Time(Instant),
    Count(Arc<AtomicU64>),
}

impl Until {
    fn goes_on(&self) -> bool {
        match self {
            Self::Time(end) => Instant::now() < *end,
            Self::Count(left) => {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            }
        }
    }
}

impl Load {
    /// SET with a three-byte value on many keys, as redis-benchmark does.
    pub(crate) fn single() -> Self {
        Self::of("/", command)
    }

    /// So many of them in one request.
    pub(crate) fn pipeline(depth: usize) -> Self {
        let list = |at: usize| (0..depth).map(|i| command(at * depth + i)).collect::<Vec<_>>().join(",");
        Self::of("/pipeline", |at| format!("[{}]", list(at)))
    }

    fn of(path: &str, body: impl Fn(usize) -> String) -> Self {
        let request = |at| {
            let body = body(at);
            let length = body.len();
            let head = format!("POST {path} HTTP/1.1\r\nhost: b\r\nauthorization: Bearer {TOKEN}\r\n");
            format!("{head}content-length: {length}\r\n\r\n{body}").into_bytes()
        };
        Self { requests: Arc::new((0..256).map(request).collect()) }
    }

    /// How many answers come within a time.
    pub(crate) async fn run(&self, address: &str, clients: usize, time: Duration) -> u64 {
        self.send(address, clients, &Until::Time(Instant::now() + time)).await
    }

    /// Sends so many.
    pub(crate) async fn count(&self, address: &str, clients: usize, count: u64) -> u64 {
        self.send(address, clients, &Until::Count(Arc::new(AtomicU64::new(count)))).await
    }

    async fn send(&self, address: &str, clients: usize, until: &Until) -> u64 {
        let clients: Vec<_> = (0..clients)
            .map(|client| {
                let (address, requests, until) = (address.to_owned(), Arc::clone(&self.requests), until.clone());
                tokio::spawn(async move { converse(&address, &requests, client, &until).await })
            })
            .collect();
        let mut answered = 0;
        for client in clients {
            answered += client.await.expect("a client that ends");
        }
        answered
    }
}

fn command(at: usize) -> String {
    format!(r#"["SET","key:{:012}","xxx"]"#, at * 7919 % 100_000)
}

async fn converse(address: &str, requests: &[Vec<u8>], client: usize, until: &Until) -> u64 {
    let mut socket = TcpStream::connect(address).await.expect("the bridge accepts");
    socket.set_nodelay(true).expect("an option");
    let (mut buffer, mut answered) = (Vec::with_capacity(16 * 1024), 0);
    for request in requests.iter().cycle().skip(client * 3) {
        if !until.goes_on() {
            break;
        }
        socket.write_all(request).await.expect("the bridge reads");
        buffer.clear();
        while !is_complete(&buffer) {
            assert!(socket.read_buf(&mut buffer).await.expect("an answer") > 0, "hung up");
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer));
        answered += 1;
    }
    answered
}

/// Whether head and body are there, by the head's content-length.
fn is_complete(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = str::from_utf8(bytes.get(..end).unwrap_or_default()).unwrap_or_default();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    bytes.len() >= end + 4 + length.expect("a content-length")
}
