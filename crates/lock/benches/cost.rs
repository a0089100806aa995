//! What a lock costs beside plain commands, uncontended, as a ratio.
//!
//!     cargo bench -p sluice-lock -- [--json] [--calls 20000] [--rounds 7] [--connections 50]
//!
//! Two plain sides do `SET NX PX` and `EVALSHA` of the compare-and-delete script that everybody copies: redis-benchmark, in
//! C, over as many connections (50 is its own default), and this crate's client. redis-benchmark cannot alternate two
//! commands, so it runs each alone and the two times are added; its keys are random ones, so that every SET writes, and its
//! script finds nothing to delete, which is in its favour. All take turns, so that what else the machine does falls on
//! all; ratios are of medians.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]
#![allow(clippy::expect_used, clippy::panic, reason = "a bench stops where something is wrong")]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "times and ratios are fractions")]

use redis::aio::MultiplexedConnection;
use redis::{Client, cmd};
use sluice_lock::{Locks, Simple, Terms, Wait};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::Instant;

const RELEASE: &str = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
const TTL: Duration = Duration::from_secs(10);

struct Server {
    process: Child,
    port: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = xtask::stack::Port::reserve().expect("a port").number().to_string();
        let process = Command::new(xtask::tools::ensure_apt("redis-server").expect("redis-server"))
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server starts");
        Self { process, port, _folder: folder }
    }

    async fn connect(&self) -> MultiplexedConnection {
        let client = Client::open(format!("redis://127.0.0.1:{}", self.port)).expect("a client");
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match client.get_multiplexed_async_connection().await {
                Ok(connection) => return connection,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Microseconds that redis-benchmark needs for a command, over so many connections.
    fn redis_benchmark(&self, calls: usize, connections: usize, command: &[&str]) -> f64 {
        let mut program = Command::new("redis-benchmark");
        program.args(["-p", &self.port, "-c", &connections.to_string(), "-n", &calls.to_string()]);
        program.args(["-r", "1000000000000", "--csv"]).args(command);
        let text = String::from_utf8(program.output().expect("redis-benchmark").stdout).expect("text");
        let row = text.lines().last().expect("a row");
        // The command itself may hold commas; the rate is the first field after it.
        let rate = row.rsplit("\",\"").nth(6).expect("eight columns");
        1e6 / rate.parse::<f64>().expect("a rate")
    }

    /// Both commands, each alone.
    fn plain_commands(&self, calls: usize, connections: usize, sha1: &str) -> f64 {
        let set = self.redis_benchmark(calls, connections, &["SET", "bench:__rand_int__", "x", "NX", "PX", "1000"]);
        let script = ["EVALSHA", sha1, "1", "bench:__rand_int__", "x"];
        set + self.redis_benchmark(calls, connections, &script)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn plain(mut connection: MultiplexedConnection, sha1: String, key: String, calls: usize) {
    let ttl = TTL.as_millis().to_string();
    for n in 0..calls {
        let token = format!("{n:032x}");
        let mut set = cmd("SET");
        set.arg(&key).arg(&token).arg("NX").arg("PX").arg(&ttl);
        let taken: Option<String> = set.query_async(&mut connection).await.expect("SET");
        assert!(taken.is_some());
        let mut release = cmd("EVALSHA");
        release.arg(&sha1).arg(1).arg(&key).arg(&token);
        assert_eq!(release.query_async::<i64>(&mut connection).await.expect("EVALSHA"), 1);
    }
}

async fn lock(lock: Simple, calls: usize) {
    for _ in 0..calls {
        let guard = lock.acquire(Wait::none()).await.expect("a guard");
        assert!(guard.release().await.expect("a release").was_held());
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().expect("a round")
}

/// Microseconds for one of `calls`, which as many tasks share as there are pieces of work.
async fn timed<W: Future<Output = ()> + Send + 'static>(calls: usize, work: impl Iterator<Item = W>) -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = work.map(tokio::spawn).collect();
    for task in tasks {
        task.await.expect("a task");
    }
    start.elapsed().as_secs_f64() * 1e6 / calls as f64
}

const SIDES: [&str; 5] = ["redis-benchmark", "same client", "simple", "fenced", "watchdog"];

/// Microseconds for one acquisition and release over so many connections, in the order of [`SIDES`].
async fn run(server: &Server, calls: usize, rounds: usize, connections: usize) -> Vec<f64> {
    let mut links = Vec::new();
    for _ in 0..connections {
        links.push(server.connect().await);
    }
    let mut first = server.connect().await;
    let sha1: String = cmd("SCRIPT").arg("LOAD").arg(RELEASE).query_async(&mut first).await.expect("SCRIPT");
    let terms = Terms::new(TTL).expect("terms");
    let all = [terms, terms.fenced(), terms.renewed_up_to(TTL * 60).expect("terms")];
    let each = calls / connections;
    let calls = each * connections;
    let mut measured = vec![Vec::new(); SIDES.len()];
    for round in 0..=rounds {
        let mut took = vec![server.plain_commands(calls, connections, &sha1)];
        let plains = links.iter().enumerate();
        took.push(
            timed(calls, plains.map(|(n, link)| plain(link.clone(), sha1.clone(), format!("plain:{n}"), each))).await,
        );
        for terms in all {
            let locks = links.iter().enumerate().map(|(n, link)| {
                let locks = Locks::new(link.clone(), "bench").expect("locks");
                lock(locks.simple(&n.to_string(), terms).expect("a lock"), each)
            });
            took.push(timed(calls, locks).await);
        }
        // The first round only warms up.
        if round > 0 {
            measured.iter_mut().zip(took).for_each(|(all, one)| all.push(one));
        }
    }
    measured.into_iter().map(median).collect()
}

fn tell(connections: usize, micros: &[f64], json: bool) {
    let (benchmark, client) = (micros.first().copied().unwrap_or(1.0), micros.get(1).copied().unwrap_or(1.0));
    if json {
        let of = |base: f64| -> serde_json::Map<String, serde_json::Value> {
            SIDES.iter().zip(micros).map(|(name, value)| ((*name).to_owned(), (value / base).into())).collect()
        };
        let report = serde_json::json!({
            "connections": connections,
            "us": of(1.0),
            "ratio_to_redis_benchmark": of(benchmark),
            "ratio_to_same_client": of(client),
        });
        println!("{report}");
        return;
    }
    println!("{connections} connections: µs, ratio to redis-benchmark, ratio to the same client");
    for (name, value) in SIDES.iter().zip(micros) {
        println!("  {name:<16} {value:>7.1} {:>6.2} {:>6.2}", value / benchmark, value / client);
    }
}

fn main() {
    let flags: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, otherwise: usize| {
        let at = flags.iter().position(|flag| flag == name);
        at.and_then(|at| flags.get(at + 1)).and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let json = flags.iter().any(|flag| flag == "--json");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (calls, rounds) = (number("--calls", 20_000), number("--rounds", 7));
    let server = Server::start();
    for connections in [1, number("--connections", 50).max(1)] {
        tell(connections, &runtime.block_on(run(&server, calls, rounds, connections)), json);
    }
}
