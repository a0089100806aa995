//! Requests per second through the bridge beside redis-benchmark on the same Redis, as ratios.
//!
//!     cargo bench -p sluice-bridge -- [--json] [--seconds 3] [--rounds 5] [--memory]
//!
//! Both take turns, so that what else the machine does falls on both. `--memory` instead sends 1,000,000 requests
//! and looks at the bridge's resident memory on the way.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]
#![allow(clippy::expect_used, clippy::panic, reason = "a bench stops where something is wrong")]
#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "rates and ratios are fractions")]

mod client;
mod programs;

use std::time::Duration;

use client::Load;
use programs::Programs;
use serde_json::json;

/// Clients that are connected at once, as redis-benchmark has them.
const CLIENTS: usize = 64;
/// Commands in a pipeline.
const DEPTH: usize = 100;

fn main() {
    let flags: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, otherwise: u64| {
        let at = flags.iter().position(|flag| flag == name);
        at.and_then(|at| flags.get(at + 1)).and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let json = flags.iter().any(|flag| flag == "--json");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let programs = Programs::start();
    if flags.iter().any(|flag| flag == "--memory") {
        runtime.block_on(memory(&programs, json));
        return;
    }
    let seconds = Duration::from_secs(number("--seconds", 3));
    let rounds = usize::try_from(number("--rounds", 5)).expect("a small number");
    let single = compare(&runtime, &programs, &Load::single(), 1, seconds, rounds);
    let pipeline = compare(&runtime, &programs, &Load::pipeline(DEPTH), DEPTH, seconds, rounds);
    if json {
        println!("{}", json!({ "single_64": single.json(), "pipeline_100": pipeline.json() }));
    } else {
        single.show("single commands, 64 connections");
        pipeline.show("pipelines of 100, 64 connections");
    }
}

/// Medians of both sides, in commands per second.
struct Comparison {
    bridge: f64,
    redis: f64,
    ratio: f64,
}

impl Comparison {
    fn json(&self) -> serde_json::Value {
        json!({ "bridge": self.bridge.round(), "redis_benchmark": self.redis.round(), "ratio": self.ratio })
    }

    fn show(&self, what: &str) {
        println!("{what}: {:.0}/s, redis-benchmark {:.0}/s, ratio {:.2}", self.bridge, self.redis, self.ratio);
    }
}

fn compare(
    runtime: &tokio::runtime::Runtime,
    programs: &Programs,
    load: &Load,
    depth: usize,
    time: Duration,
    rounds: usize,
) -> Comparison {
    let (mut bridge, mut redis, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let theirs = programs.redis_benchmark(CLIENTS, depth, time);
        let answered = runtime.block_on(load.run(&programs.bridge_address(), CLIENTS, time));
        let ours = answered as f64 * depth as f64 / time.as_secs_f64();
        ratios.push(ours / theirs);
        bridge.push(ours);
        redis.push(theirs);
    }
    Comparison { bridge: median(bridge), redis: median(redis), ratio: median(ratios) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The bridge's memory after each tenth of a million requests: singles and pipelines of ten in turn.
async fn memory(programs: &Programs, json: bool) {
    let (single, pipeline) = (Load::single(), Load::pipeline(10));
    let mut sizes = Vec::new();
    let mut sent = 0;
    while sent < 1_000_000 {
        sent += single.count(&programs.bridge_address(), CLIENTS, 80_000).await;
        sent += pipeline.count(&programs.bridge_address(), CLIENTS, 20_000).await;
        sizes.push(programs.bridge_kilobytes());
    }
    let (first, last) = (sizes.first().copied().unwrap_or(1), sizes.last().copied().unwrap_or_default());
    let growth = last as f64 / first as f64;
    if json {
        println!("{}", json!({ "requests": sent, "kilobytes": sizes, "growth": growth }));
    } else {
        println!("{sent} requests; resident kilobytes {sizes:?}; growth {growth:.3}");
    }
    assert!(growth < 1.25, "memory is not flat: {sizes:?}");
}
