//! What a lock costs beside plain commands, uncontended, over one connection, as a ratio.
//!
//!     cargo bench -p sluice-lock -- [--json] [--calls 20000] [--rounds 7]
//!
//! The plain side is `SET NX PX`, then `EVALSHA` of the compare-and-delete script that everybody copies, over the same
//! client; redis-benchmark cannot alternate two commands, so what it says of each alone is shown beside. All take turns,
//! so that what else the machine does falls on all.
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

    /// Microseconds that redis-benchmark needs for a command over one connection.
    fn redis_benchmark(&self, calls: usize, command: &[&str]) -> f64 {
        let mut program = Command::new("redis-benchmark");
        program.args(["-p", &self.port, "-c", "1", "-n", &calls.to_string(), "--csv"]).args(command);
        let text = String::from_utf8(program.output().expect("redis-benchmark").stdout).expect("text");
        let row = text.lines().last().expect("a row");
        // The command itself may hold commas; the rate is the first field after it.
        let rate = row.rsplit("\",\"").nth(6).expect("eight columns");
        1e6 / rate.parse::<f64>().expect("a rate")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn plain(connection: &mut MultiplexedConnection, sha1: &str, calls: usize) {
    let ttl = TTL.as_millis().to_string();
    for n in 0..calls {
        let token = format!("{n:032x}");
        let mut set = cmd("SET");
        set.arg("bench:plain").arg(&token).arg("NX").arg("PX").arg(&ttl);
        let taken: Option<String> = set.query_async(connection).await.expect("SET");
        assert!(taken.is_some());
        let mut release = cmd("EVALSHA");
        release.arg(sha1).arg(1).arg("bench:plain").arg(&token);
        assert_eq!(release.query_async::<i64>(connection).await.expect("EVALSHA"), 1);
    }
}

async fn lock(lock: &Simple, calls: usize) {
    for _ in 0..calls {
        let guard = lock.acquire(Wait::none()).await.expect("a guard");
        assert!(guard.release().await.expect("a release").was_held());
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().expect("a round")
}

async fn timed(calls: usize, work: impl Future<Output = ()>) -> f64 {
    let start = Instant::now();
    work.await;
    start.elapsed().as_secs_f64() * 1e6 / calls as f64
}

/// All times are microseconds for one acquisition and release.
async fn run(calls: usize, rounds: usize, json: bool) {
    let server = Server::start();
    let mut connection = server.connect().await;
    let sha1: String = cmd("SCRIPT").arg("LOAD").arg(RELEASE).query_async(&mut connection).await.expect("SCRIPT");
    let locks = Locks::new(connection.clone(), "bench").expect("locks");
    let terms = Terms::new(TTL).expect("terms");
    let renewed = terms.renewed_up_to(TTL * 60).expect("terms");
    let make = |terms| locks.simple("bench", terms).expect("a lock");
    let kinds = [("simple", make(terms)), ("fenced", make(terms.fenced())), ("watchdog", make(renewed))];
    let (mut base, mut ours) = (Vec::new(), vec![Vec::new(); kinds.len()]);
    for round in 0..=rounds {
        let plain = timed(calls, plain(&mut connection, &sha1, calls)).await;
        let mut measured = Vec::new();
        for (_, kind) in &kinds {
            measured.push(timed(calls, lock(kind, calls)).await);
        }
        // The first round only warms up.
        if round > 0 {
            base.push(plain);
            ours.iter_mut().zip(measured).for_each(|(all, one)| all.push(one));
        }
    }
    let set = server.redis_benchmark(calls, &["SET", "bench:b", "x", "NX", "PX", "10000"]);
    let eval = server.redis_benchmark(calls, &["EVALSHA", &sha1, "1", "bench:c", "x"]);
    let plain = median(base);
    let ours: Vec<f64> = ours.into_iter().map(median).collect();
    let ratios: Vec<f64> = ours.iter().map(|micros| micros / plain).collect();
    if json {
        let of = |values: &[f64]| -> serde_json::Map<String, serde_json::Value> {
            kinds.iter().zip(values).map(|((name, _), value)| ((*name).to_owned(), (*value).into())).collect()
        };
        let report = serde_json::json!({
            "plain_us": plain,
            "redis_benchmark_us": { "set_nx": set, "evalsha": eval },
            "lock_us": of(&ours),
            "ratio": of(&ratios),
        });
        println!("{report}");
    } else {
        println!("plain SET NX + EVALSHA   {plain:.1} µs");
        println!("redis-benchmark          {set:.1} + {eval:.1} µs, each alone");
        for (((name, _), micros), ratio) in kinds.iter().zip(&ours).zip(&ratios) {
            println!("{name:<24} {micros:.1} µs, ratio {ratio:.2}");
        }
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
    runtime.block_on(run(number("--calls", 20_000), number("--rounds", 7), json));
}
