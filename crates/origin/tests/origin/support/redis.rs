//! A redis-server of one's own.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, cmd};
use tempfile::TempDir;

use super::free_port;

/// Killed when it is dropped.
pub struct Redis {
    pub url: String,
    child: Child,
    _folder: TempDir,
    connection: MultiplexedConnection,
}

impl Redis {
    pub async fn start() -> Self {
        // Another process may take the port first; then the next one will do.
        for _ in 0..5 {
            if let Some(redis) = Self::try_start().await {
                return redis;
            }
        }
        panic!("redis-server does not start: is something wrong with it?")
    }

    async fn try_start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--dir", folder.path().to_str().unwrap()])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server must be on PATH: apt-get install redis-server");
        let url = format!("redis://127.0.0.1:{port}");
        let client = redis::Client::open(url.as_str()).unwrap();
        loop {
            if let Ok(connection) = client.get_multiplexed_async_connection().await {
                return Some(Self { url, child, _folder: folder, connection });
            }
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Runs a command, its words split at spaces.
    pub async fn ask<T: FromRedisValue>(&self, line: &str) -> T {
        let mut words = line.split(' ');
        let mut command = cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        command.query_async(&mut self.connection.clone()).await.unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Runs a command whose arguments may hold anything.
    pub async fn ask_with<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut self.connection.clone()).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Stops it, or lets it go on, without closing connections.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
