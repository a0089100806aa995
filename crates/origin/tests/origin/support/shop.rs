//! A shop: Redis, SQL, and one origin or several on them.

use std::collections::HashMap;
use std::process::{Output, Stdio};
use std::time::Duration;

use sluice_origin::{Config, Listeners, build, run};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::client::{Client, SECRET};
use super::redis::Redis;
use super::sql::Sql;
use super::{free_port, until};

/// The stores of one test.
pub struct Shop {
    pub redis: Redis,
    pub sql: Sql,
}

/// An origin inside the test's process.
pub struct Running {
    pub client: Client,
    /// On the operators' listener.
    pub admin: Client,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Shop {
    /// The stores alone, with the schema.
    pub async fn new() -> Self {
        let redis = Redis::start().await;
        let sql = Sql::new().await;
        let done = tool(&redis.url, &sql.url, 1, "migrate").await;
        assert!(done.status.success(), "{done:?}");
        Self { redis, sql }
    }

    /// With a sale of `demo` that has begun.
    pub async fn selling(stock: u32) -> Self {
        let shop = Self::new().await;
        shop.create(&format!("--stock {stock}")).await;
        shop
    }

    /// Creates the sale `demo`.
    pub async fn create(&self, options: &str) {
        let done = self.tool(&format!("sale create --sku demo --title Demo --price 1999 {options}")).await;
        assert!(done.status.success(), "{done:?}");
    }

    /// Runs `sluice-origin` as a tool, its words split at spaces.
    pub async fn tool(&self, line: &str) -> Output {
        tool(&self.redis.url, &self.sql.url, 1, line).await
    }

    /// Settings with short waits.
    pub fn config(&self) -> Config {
        config(&self.redis.url, &self.sql.url)
    }

    pub async fn origin(&self) -> Running {
        self.origin_with(self.config()).await
    }

    pub async fn origin_with(&self, config: Config) -> Running {
        Running::start(config).await
    }

    /// An origin as a process of its own, to be killed.
    pub async fn process(&self, consumer: &str) -> (Child, Client) {
        let port = free_port();
        let mut command = binary();
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--consumer", consumer]);
        command.args(["--redis", &self.redis.url, "--database", &self.sql.url, "--assertion-secret", SECRET]);
        let child = command.kill_on_drop(true).stdout(Stdio::null()).spawn().unwrap();
        let client = Client::new(port);
        until("the process is ready", || async {
            client.try_send("GET", "/readyz", None, "").await.is_ok_and(|answer| answer.status == 200)
        })
        .await;
        (child, client)
    }

    /// What Redis has left of `demo`.
    pub async fn stock(&self) -> i64 {
        self.redis.ask("GET sl1:{p0}:stock:demo").await
    }

    /// Orders in SQL in a status.
    pub async fn orders(&self, status: &str) -> i64 {
        self.sql.number(&format!("SELECT COUNT(*) FROM orders WHERE status = '{status}'")).await
    }

    /// Waits until nothing is undelivered or unacknowledged.
    pub async fn settled(&self) {
        until("all is settled", || async {
            let stream: HashMap<String, redis::Value> = self.redis.ask("XINFO STREAM sl1:{p0}:orders").await;
            let groups: Vec<HashMap<String, redis::Value>> = self.redis.ask("XINFO GROUPS sl1:{p0}:orders").await;
            let group = groups.into_iter().find(|group| group["name"] == redis::Value::BulkString(b"settle".to_vec()));
            group.is_some_and(|group| {
                group["pending"] == redis::Value::Int(0) && group["last-delivered-id"] == stream["last-generated-id"]
            })
        })
        .await;
    }

    /// Waits until all is settled and the outbox is empty.
    pub async fn quiet(&self) {
        self.settled().await;
        until("the outbox is empty", || async {
            self.sql.number("SELECT COUNT(*) FROM outbox WHERE done_at IS NULL").await == 0
        })
        .await;
    }

    /// What must hold once all is settled: every unit is in stock or in an order, and both stores agree.
    pub async fn assert_whole(&self, initial: i64) {
        let sold = self.sql.sum("quantity", "orders WHERE status NOT IN ('failed', 'cancelled')").await;
        assert_eq!(self.sql.number("SELECT stock FROM inventory WHERE sku = 'demo'").await, initial - sold, "SQL");
        assert_eq!(self.stock().await, initial - sold, "Redis");
        self.sql.assert_ledger_is_whole("demo").await;
    }
}

impl Running {
    /// Builds and runs it, and waits until it is ready.
    pub async fn start(config: Config) -> Self {
        let public = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let [port, admin_port] = [&public, &admin].map(|listener| listener.local_addr().unwrap().port());
        let origin = build(config).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let task = tokio::spawn(run(origin, Listeners { public, admin: Some(admin) }, shutdown));
        let client = Client::new(port);
        until("the origin is ready", || async { client.get("/readyz").await.status == 200 }).await;
        Self { client, admin: Client::new(admin_port), stop: Some(stop), task: Some(task) }
    }

    /// A counter of `/metrics`.
    pub async fn counter(&self, name: &str) -> u64 {
        let text = self.admin.get("/metrics").await.body;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Ends it where it stands, as a killed process would.
    pub fn abort(self) {}

    /// Shuts it down, and waits until it has.
    pub async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.take().unwrap().await.unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-origin"));
    command.env_remove("REDIS_URL").env_remove("DATABASE_URL").env_remove("ORIGIN_PARTITIONS");
    command
}

/// Settings with short waits.
pub fn config(redis: &str, database: &str) -> Config {
    let mut config = Config::new(redis, database, SECRET);
    config.consumer = format!("test-{}", free_port());
    config.take_over_after = Duration::from_millis(300);
    config.tend_every = Duration::from_millis(100);
    config.poll_every = Duration::from_millis(50);
    config
}

/// Runs `sluice-origin` as a tool, its words split at spaces.
pub async fn tool(redis: &str, database: &str, partitions: u16, line: &str) -> Output {
    let mut tool = binary();
    tool.env("REDIS_URL", redis).env("DATABASE_URL", database).env("ORIGIN_PARTITIONS", partitions.to_string());
    tool.args(line.split(' ')).output().await.unwrap()
}
