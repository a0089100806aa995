//! Starts redis-server and a bridge for one test, and asks it.

use std::future::Future;
use std::net::TcpListener as StdListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;
use sluice_bridge::Config;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

pub const TOKEN: &str = "test-token";

/// Polls a condition until it holds, for at most so long.
pub async fn until<F: Future<Output = bool>>(limit: Duration, what: &str, mut holds: impl FnMut() -> F) {
    let poll = async {
        while !holds().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(limit, poll).await.unwrap_or_else(|_| panic!("not within {limit:?}: {what}"));
}

/// A port that nothing uses, below the range from which the system takes ports for outgoing connections: such a
/// connection could otherwise sit on the port while the server is being restarted.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = 12_000 + u16::try_from(std::process::id() % 18_000).unwrap();
    loop {
        let port = start + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000;
        if StdListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A redis-server with a folder of its own. It stops with the test.
pub struct Redis {
    pub port: u16,
    pub folder: TempDir,
    /// Arguments after those that every server gets.
    pub more: Vec<String>,
    process: Option<Child>,
}

impl Redis {
    /// Picks a port and starts nothing.
    pub fn stopped() -> Self {
        Self { port: free_port(), folder: tempfile::tempdir().unwrap(), more: Vec::new(), process: None }
    }

    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server that is made ready by `change`, which sees its port and folder.
    pub async fn start_with(change: impl Fn(&mut Self)) -> Self {
        for _ in 0..5 {
            let mut redis = Self::stopped();
            change(&mut redis);
            redis.spawn();
            if redis.answers().await {
                return redis;
            }
        }
        panic!("redis-server does not start: is something wrong with it?")
    }

    /// Starts the server again on the same port and data, and waits until it answers.
    pub async fn resume(&mut self) {
        self.spawn();
        assert!(self.answers().await, "redis-server ended at once");
    }

    /// Waits until the server answers; false if it ended instead, since another process took its port.
    async fn answers(&mut self) -> bool {
        let client = redis::Client::open(self.url()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if self.process.as_mut().unwrap().try_wait().unwrap().is_some() {
                return false;
            }
            if let Ok(mut connection) = client.get_multiplexed_async_connection().await
                && redis::cmd("PING").query_async::<()>(&mut connection).await.is_ok()
            {
                return true;
            }
            sleep(Duration::from_millis(5)).await;
        }
        panic!("redis-server does not answer within 10 s")
    }

    /// Starts the server and does not wait.
    pub fn spawn(&mut self) {
        let child = Command::new("redis-server")
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .arg("--dir")
            .arg(self.folder.path())
            .args(&self.more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("these tests need redis-server on the PATH: apt-get install redis-server");
        self.process = Some(child);
    }

    /// Asks the server itself, past the bridge.
    pub async fn cli(&self, words: &[&str]) -> redis::Value {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: Signal) {
        send_signal(self.process.as_ref().unwrap().id(), signal);
    }

    /// Kills the server; its port and data stay for `resume`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn send_signal(pid: u32, signal: Signal) {
    nix::sys::signal::kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

/// A bridge in this process, and a client for it.
#[derive(Clone)]
pub struct Bridge {
    pub url: String,
    pub http: reqwest::Client,
    _stop: std::sync::Arc<oneshot::Sender<()>>,
}

/// A status and a body.
pub type Answer = (u16, String);

impl Bridge {
    pub async fn before(redis: &Redis) -> Self {
        Self::with(redis, |_| {}).await
    }

    pub async fn with(redis: &Redis, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(&redis.url(), TOKEN).unwrap();
        change(&mut config);
        Self::of(config).await
    }

    pub async fn of(config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let run = sluice_bridge::build(config).run(listener, async {
            let _ = stopped.await;
        });
        tokio::spawn(run);
        Self { url, http: reqwest::Client::new(), _stop: std::sync::Arc::new(stop) }
    }

    /// A request with the token, to be refined.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(TOKEN)
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        answer(self.request("POST", path).body(body.to_owned())).await
    }

    /// Sends one command and expects 200.
    pub async fn command(&self, body: &str) -> Value {
        let (status, text) = self.post("/", body).await;
        assert_eq!(status, 200, "{body} -> {text}");
        serde_json::from_str::<Value>(&text).unwrap()["result"].take()
    }

    /// Sends one command and expects 400; gives the error.
    pub async fn error(&self, body: &str) -> String {
        let (status, text) = self.post("/", body).await;
        assert_eq!(status, 400, "{body} -> {text}");
        error_of(&text)
    }
}

pub async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

pub fn error_of(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.as_object().unwrap().len(), 1, "{text}");
    value["error"].as_str().unwrap_or_else(|| panic!("no error: {text}")).to_owned()
}

/// How long something took, with its result.
pub async fn timed<T>(future: impl Future<Output = T>) -> (Duration, T) {
    let start = Instant::now();
    let result = future.await;
    (start.elapsed(), result)
}
