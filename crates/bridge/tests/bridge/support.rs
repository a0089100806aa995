//! Starts redis-server and a bridge for one test, and asks it.

use std::future::Future;
use std::net::TcpListener as StdListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

pub fn free_port() -> u16 {
    StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A redis-server with a folder of its own. It stops with the test.
pub struct Redis {
    pub port: u16,
    folder: TempDir,
    process: Option<Child>,
}

impl Redis {
    /// Picks a port and starts nothing.
    pub fn stopped() -> Self {
        Self { port: free_port(), folder: tempfile::tempdir().unwrap(), process: None }
    }

    pub async fn start() -> Self {
        let mut redis = Self::stopped();
        redis.resume().await;
        redis
    }

    /// Starts the server again on the same port and data, and waits until it answers.
    pub async fn resume(&mut self) {
        self.spawn();
        let client = redis::Client::open(self.url()).unwrap();
        until(Duration::from_secs(10), "redis-server answers", || async {
            match client.get_multiplexed_async_connection().await {
                Ok(mut connection) => redis::cmd("PING").query_async::<()>(&mut connection).await.is_ok(),
                Err(_) => false,
            }
        })
        .await;
    }

    /// Starts the server and does not wait.
    pub fn spawn(&mut self) {
        let child = Command::new("redis-server")
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .arg("--dir")
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("these tests need redis-server on the PATH: apt-get install redis-server");
        self.process = Some(child);
    }

    /// Sends a signal to the server, by name.
    pub fn signal(&self, name: &str) {
        send_signal(self.process.as_ref().unwrap().id(), name);
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

pub fn send_signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
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
