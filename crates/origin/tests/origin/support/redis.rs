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
    pub port: u16,
    more: Vec<String>,
    child: Child,
    folder: TempDir,
    connection: MultiplexedConnection,
}

impl Redis {
    pub async fn start() -> Self {
        Self::start_with(Vec::new).await
    }

    /// With more of redis-server's options, made anew for each attempt.
    pub async fn start_with(more: impl Fn() -> Vec<String>) -> Self {
        // Another process may take the port first; then the next one will do.
        for _ in 0..5 {
            let (folder, port, more) = (tempfile::tempdir().unwrap(), free_port(), more());
            if let Some((child, connection)) = spawn(&folder, port, &more).await {
                return Self { url: url(port), port, more, child, folder, connection };
            }
        }
        panic!("redis-server does not start: is something wrong with it?")
    }

    /// Kills it; its data is lost, for it writes none.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again after that, in the same place.
    pub async fn start_again(&mut self) {
        let again = spawn(&self.folder, self.port, &self.more).await;
        (self.child, self.connection) = again.expect("its port is free still");
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

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

async fn spawn(folder: &TempDir, port: u16, more: &[String]) -> Option<(Child, MultiplexedConnection)> {
    let mut child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--dir", folder.path().to_str().unwrap()])
        .args(more)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server must be on PATH: apt-get install redis-server");
    let client = redis::Client::open(url(port)).unwrap();
    loop {
        if let Ok(connection) = client.get_multiplexed_async_connection().await {
            return Some((child, connection));
        }
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
