//! The field: one Redis, one bridge and one origin for all, and one workerd a contender.

use super::contender::Contender;
use super::load::{self, Seen, Until};
use super::measure::Sample;
use super::{peer, process};
use crate::build::{self, Variant};
use crate::stack::{AppendFsync, Part, Port, Process, Spec, Stack};
use crate::{clock, console::Step, paths, tools, user};
use anyhow::{Context, Result, bail, ensure};
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use sluice::model::Sku;
use sluice::script::keys::Keyspace;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long a process may take to its first answer.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// So many looks in a row must see no new request, this far apart.
const QUIET_LOOKS: u32 = 4;
const QUIET: Duration = Duration::from_millis(60);
/// How long an opened sale is open.
const OPEN_MS: u64 = 7_200_000;

/// Everything that runs. The processes stop when it is dropped.
pub(super) struct Field {
    pub(super) redis: MultiplexedConnection,
    http: reqwest::Client,
    peers: BTreeMap<Contender, (Process, Port)>,
    _bridge: Process,
    _origin: Process,
    stack: Stack,
}

/// Counters before or after a run.
struct Counted {
    cpu_us: u64,
    redis: u64,
    origin: u64,
}

impl Field {
    /// Builds what is missing and starts everything.
    pub(super) async fn start() -> Result<Self> {
        let programs = tokio::task::spawn_blocking(|| {
            build::exclusive(|| {
                for program in ["redis-server", "wrk"] {
                    tools::ensure_apt(program)?;
                }
                build::edge(Variant::Fetch)?;
                build::loaded()
            })
        })
        .await??;
        let step = Step::start("starting Redis, bridge, origin and the contenders");
        let wish = Stack::builder().only(&[Part::Redis, Part::Worker]).appendfsync(AppendFsync::No);
        let stack = wish.gate_toml(&gate()?)?.already_built().start().await?;
        let bridge = stack.beside("bridge", bridge(&stack, &programs))?;
        let origin_port = stack.origin_url().replace("http://", "");
        let origin = stack.beside("origin", origin(&stack, &programs, origin_port))?;
        let client = redis::Client::open(stack.redis_url())?;
        let patient = AsyncConnectionConfig::new().set_response_timeout(Some(READY_LIMIT));
        let redis = client.get_multiplexed_async_connection_with_config(&patient).await?;
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build()?;
        let mut field = Self { redis, http, peers: BTreeMap::new(), _bridge: bridge, _origin: origin, stack };
        for contender in Contender::ALL {
            if let Some(source) = contender.source() {
                let port = Port::reserve()?;
                let spec = peer::spec(contender, source, field.stack.layout(), field.stack.folder(), &port)?;
                field.peers.insert(contender, (field.stack.beside(contender.name(), spec)?, port));
            }
        }
        field.until_answered(&(field.stack.bridge_url() + "/healthz")).await?;
        field.until_answered(&(field.stack.origin_url() + "/bench/requests")).await?;
        for contender in Contender::ALL {
            field.until_answered(&(field.url(contender)? + "/healthz")).await?;
        }
        step.done("done");
        Ok(field)
    }

    /// The stack: secrets, folder, addresses.
    pub(super) fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Where a contender listens.
    pub(super) fn url(&self, contender: Contender) -> Result<String> {
        match self.peers.get(&contender) {
            Some((_, port)) => Ok(format!("http://127.0.0.1:{}", port.number())),
            None if contender == Contender::Sluice => Ok(self.stack.edge_url()),
            None => bail!("{contender} does not run"),
        }
    }

    /// A contender's workerd.
    pub(super) fn process(&self, contender: Contender) -> Result<&Process> {
        match self.peers.get(&contender) {
            Some((process, _)) => Ok(process),
            None => self.stack.process(Part::Worker),
        }
    }

    /// Empties Redis and opens a sale with so many units.
    pub(super) async fn open(&mut self, sku: &str, stock: u64) -> Result<()> {
        self.until_quiet().await?;
        redis::cmd("FLUSHALL").query_async::<()>(&mut self.redis).await?;
        let (keys, sku, now) = (Keyspace::default(), Sku::parse(sku)?, clock::unix_ms());
        let mut pipe = redis::pipe();
        let terms =
            [("starts_at", now - 1000), ("ends_at", now + OPEN_MS), ("paused", 0), ("per_user", 1), ("price", 1999)];
        pipe.hset_multiple(keys.sale(&sku), &terms).ignore();
        pipe.set(keys.stock(&sku), stock).ignore();
        pipe.query_async::<()>(&mut self.redis).await.context("Redis does not take a sale")
    }

    /// Whether the origin places orders in Redis, or only answers as if it did.
    pub(super) async fn keep_orders(&self, kept: bool) -> Result<()> {
        let url = format!("{}/bench/orders/{}", self.stack.origin_url(), if kept { "kept" } else { "answered" });
        self.http.post(url).send().await?.error_for_status()?;
        Ok(())
    }

    /// Sends requests to a contender; each must be answered as expected.
    pub(super) async fn run(
        &self,
        contender: Contender,
        file: &Path,
        until: Until,
        expected: &[u16],
    ) -> Result<(Sample, Seen)> {
        let url = self.url(contender)?;
        let before = self.count(contender).await?;
        let path = file.to_owned();
        let seen = tokio::task::spawn_blocking(move || load::run(&url, &path, until)).await??;
        let after = self.count(contender).await?;
        seen.check(expected).with_context(|| format!("{}:\n{}", contender.title(), self.log(contender)))?;
        let requests = seen.requests as f64;
        let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / requests;
        let sample = Sample {
            requests: seen.requests,
            rate: requests * 1e6 / seen.duration_us,
            p50_us: seen.p50_us,
            p99_us: seen.p99_us,
            cpu_us: each(before.cpu_us, after.cpu_us),
            redis: each(before.redis, after.redis),
            origin: each(before.origin, after.origin),
        };
        Ok((sample, seen))
    }

    /// Waits until this address answers.
    pub(super) async fn until_answered(&self, url: &str) -> Result<()> {
        let deadline = clock::now() + READY_LIMIT;
        loop {
            let answer = self.http.get(url).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if clock::now() >= deadline {
                let logs: Vec<String> = self.peers.values().map(|(process, _)| process.log_tail()).collect();
                bail!("{url} does not answer\n{}", logs.join("\n"));
            }
            tokio::time::sleep(clock::POLL).await;
        }
    }

    /// Waits until nobody asks Redis or the origin any more: wrk hangs up on requests that are still under way, and what
    /// they write must not fall into the next turn.
    async fn until_quiet(&self) -> Result<()> {
        let deadline = clock::now() + READY_LIMIT;
        let (mut last, mut same) = ((0, 0), 0);
        while same < QUIET_LOOKS {
            let asked = self.asked().await?;
            same = if asked == last { same + 1 } else { 0 };
            last = asked;
            ensure!(clock::now() < deadline, "Redis or the origin is asked without an end");
            tokio::time::sleep(QUIET).await;
        }
        Ok(())
    }

    /// HTTP requests to Redis and to the origin so far.
    async fn asked(&self) -> Result<(u64, u64)> {
        let metrics = self.text(self.stack.bridge_url() + "/metrics").await?;
        let origin = self.text(self.stack.origin_url() + "/bench/requests").await?;
        Ok((answered(&metrics), origin.trim().parse()?))
    }

    fn log(&self, contender: Contender) -> String {
        self.process(contender).map(Process::log_tail).unwrap_or_default()
    }

    async fn count(&self, contender: Contender) -> Result<Counted> {
        let pid = self.process(contender)?.pid().with_context(|| format!("{contender} does not run"))?;
        let (redis, origin) = self.asked().await?;
        Ok(Counted { cpu_us: process::cpu_us(pid)?, redis, origin })
    }

    async fn text(&self, url: String) -> Result<String> {
        // The origin wants no token, and does not mind one.
        Ok(self
            .http
            .get(url)
            .bearer_auth(&self.stack.secrets().bridge)
            .send()
            .await?
            .error_for_status()?
            .text()
            .await?)
    }
}

/// All requests that the bridge has answered, of every form and status.
fn answered(metrics: &str) -> u64 {
    let rows = metrics.lines().filter(|line| line.starts_with("sluice_bridge_requests_total"));
    rows.filter_map(|row| row.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// gate.toml as it is deployed, but for Redis' deadline: on a machine that is busy otherwise a request may wait longer than
/// on the platform, and one that is given up would be measured as a cheap one.
fn gate() -> Result<String> {
    const DEPLOYED: &str = "\ndeadline_ms = 400\n";
    let path = paths::root().join("gate.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(text.contains(DEPLOYED), "{} sets another deadline than the bench knows", path.display());
    Ok(text.replacen(DEPLOYED, "\ndeadline_ms = 4000\n", 1))
}

fn bridge(stack: &Stack, programs: &Path) -> Spec {
    let address = stack.bridge_url().replace("http://", "");
    let environment = [
        ("SLUICE_BRIDGE_LISTEN", address),
        ("SLUICE_BRIDGE_REDIS", stack.redis_url()),
        ("SLUICE_BRIDGE_TOKEN", stack.secrets().bridge.clone()),
    ];
    spec(stack, programs, "sluice-bridge", &environment)
}

fn origin(stack: &Stack, programs: &Path, address: String) -> Spec {
    let environment = [
        ("BENCH_ORIGIN_LISTEN", address),
        ("REDIS_URL", stack.redis_url()),
        ("ASSERTION_SECRET", stack.secrets().assertion.clone()),
        ("USER_JWT_SECRET", stack.secrets().user_jwt.clone()),
        ("USER_JWT_ISSUER", user::ISSUER.to_owned()),
        ("USER_JWT_AUDIENCE", user::AUDIENCE.to_owned()),
    ];
    spec(stack, programs, "sluice-bench-origin", &environment)
}

fn spec(stack: &Stack, programs: &Path, program: &str, environment: &[(&str, String)]) -> Spec {
    Spec {
        program: programs.join(program),
        arguments: Vec::new(),
        environment: environment.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect(),
        folder: stack.folder().to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridges_answers_are_added_up() {
        let metrics = "# TYPE sluice_bridge_requests counter
sluice_bridge_requests_total{form=\"single\",status=\"200\"} 20
sluice_bridge_requests_total{form=\"pipeline\",status=\"200\"} 3
sluice_bridge_commands_total 99
";
        assert_eq!(answered(metrics), 23);
        assert_eq!(answered(""), 0);
    }
}
