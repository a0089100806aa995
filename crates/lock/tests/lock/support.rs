//! redis-servers that can be killed, frozen and started again, and how to look into them.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, FromRedisValue, cmd};
use sluice_lock::{Guard, Locks, NotAcquired, Terms, Wait};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};
use xtask::stack::Port;

pub const PREFIX: &str = "test";
/// Longer than anything should take.
pub const LIMIT: Duration = Duration::from_secs(30);

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn terms(ttl: u64) -> Terms {
    Terms::new(ms(ttl)).unwrap()
}

pub fn is_busy<T>(outcome: &Result<T, NotAcquired>) -> bool {
    matches!(outcome, Err(NotAcquired::Busy { .. }))
}

pub fn is_unavailable<T>(outcome: &Result<T, NotAcquired>) -> bool {
    matches!(outcome, Err(NotAcquired::Unavailable(_)))
}

/// Polls a condition until it holds.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let poll = async {
        while !holds().await {
            sleep(ms(3)).await;
        }
    };
    timeout(LIMIT, poll).await.unwrap_or_else(|_| panic!("not within {LIMIT:?}: {what}"));
}

/// A redis-server with a port and a folder of its own. It stops with the test.
pub struct Server {
    port: Port,
    folder: TempDir,
    environment: Vec<(String, String)>,
    process: Option<Child>,
}

impl Server {
    pub async fn start() -> Self {
        Self::start_with(Vec::new()).await
    }

    /// Starts one with more in its environment.
    pub async fn start_with(environment: Vec<(String, String)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self { port: Port::reserve().unwrap(), folder, environment, process: None };
        server.restart().await;
        server
    }

    /// Starts it again, on the same port and without its data.
    pub async fn restart(&mut self) {
        let port = self.port.number().to_string();
        let child = Command::new(xtask::tools::ensure_apt("redis-server").unwrap())
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(self.folder.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(child);
        until("redis-server answers", || async {
            let client = Client::open(self.url()).unwrap();
            let Ok(mut connection) = client.get_multiplexed_async_connection().await else { return false };
            cmd("PING").query_async::<String>(&mut connection).await.is_ok()
        })
        .await;
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port.number())
    }

    /// A connection that restores itself.
    pub async fn connection(&self) -> ConnectionManager {
        let config = ConnectionManagerConfig::new().set_number_of_retries(1).set_response_timeout(None);
        let client = Client::open(self.url()).unwrap();
        ConnectionManager::new_with_config(client, config).await.unwrap()
    }

    pub async fn locks(&self) -> Locks {
        Locks::new(self.connection().await, PREFIX).unwrap()
    }

    /// Asks the server itself.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let client = Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }

    /// Whether nothing holds the lock of this name.
    pub async fn is_free(&self, name: &str) -> bool {
        self.ask::<i64>(&["EXISTS", &lock_key(name)]).await == 0
    }

    pub async fn until_free(&self, name: &str) {
        until("the lock is free", || self.is_free(name)).await;
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        send(self.process.as_ref().unwrap(), signal);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn send(process: &Child, signal: Signal) {
    kill(Pid::from_raw(process.id().try_into().unwrap()), signal).unwrap();
}

pub fn lock_key(name: &str) -> String {
    format!("{PREFIX}:lock:{{{name}}}")
}

/// Takes a simple lock that is free soon.
pub async fn take(locks: &Locks, name: &str, terms: Terms) -> Guard {
    locks.simple(name, terms).unwrap().acquire(Wait::up_to(LIMIT)).await.unwrap()
}

/// How long something took, with its result.
pub async fn timed<T>(future: impl Future<Output = T>) -> (Duration, T) {
    let start = Instant::now();
    let result = future.await;
    (start.elapsed(), result)
}
