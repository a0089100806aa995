//! `cargo xtask faults`: random schedules of faults over real processes, and a judge of what is left.
//!
//! A schedule is a pure value made from a seed: a [`crowd`] and what breaks while it buys. [`judge`] compares what
//! clients were told ([`tally`]) with the [`books`] of Redis and SQL. The origin's own tests use the same crowd, clients
//! and judge with faults inside its process.

pub mod after;
pub mod audit;
pub mod books;
pub mod clients;
pub mod crowd;
pub mod gateway;
pub mod judge;
mod options;
pub mod random;
mod report;
mod run;
mod schedule;
mod shop;
pub mod tally;
mod trouble;
mod wire;

pub use options::{Database, Options};

use crate::{build, clock, command, console, tools};
use anyhow::Result;
use report::Report;
use run::Outcome;
use schedule::Schedule;
use shop::Servers;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Runs the schedules and says whether every invariant holds.
///
/// # Errors
/// When nothing can be built or started. A broken invariant is no error but `false`.
pub fn run(options: &Options) -> Result<bool> {
    if options.in_process {
        return in_process(Some(options)).map(|()| true);
    }
    let seeds: Vec<u64> = (options.seed..options.seed.saturating_add(options.schedules)).collect();
    if !options.built {
        build::exclusive(build::services)?;
    }
    let report = run_seeds(&seeds, options.database, options.jobs)?;
    if options.json {
        console::result(&serde_json::to_string(&report)?);
    } else {
        console::result(&report.sentence());
    }
    Ok(report.failed.is_empty())
}

/// The seeds of continuous integration: together they hold each kind of fault, and entries that one origin takes over
/// while the other, stopped, still has them in hand.
const FIXED: [u64; 9] = [1, 2, 4, 6, 8, 26, 31, 33, 56];

/// Runs the schedules of some seeds.
///
/// # Errors
/// When nothing can be built or started.
fn run_seeds(seeds: &[u64], database: Option<Database>, jobs: u16) -> Result<Report> {
    tools::ensure_apt("redis-server")?;
    let of = |seed: &u64| database.unwrap_or_else(|| Database::of(*seed));
    let databases: BTreeSet<Database> = seeds.iter().map(of).collect();
    let databases: Vec<Database> = databases.into_iter().collect();
    let servers = Arc::new(Servers::start(&databases)?);
    let queue: Vec<(u64, Database)> = seeds.iter().map(|seed| (*seed, of(seed))).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    let report = runtime.block_on(all(queue, usize::from(jobs), &servers));
    drop(runtime);
    Ok(report)
}

async fn all(queue: Vec<(u64, Database)>, jobs: usize, servers: &Arc<Servers>) -> Report {
    let begun = clock::now();
    let mut report = Report::new(queue.len());
    let mut running = JoinSet::new();
    let mut queue = queue.into_iter();
    loop {
        while running.len() < jobs {
            let Some((seed, database)) = queue.next() else { break };
            let servers = Arc::clone(servers);
            running.spawn(async move { one(seed, database, &servers).await });
        }
        let Some(done) = running.join_next().await else { break };
        match done {
            Ok((schedule, database, took, outcome)) => report.add(&schedule, database, took, &outcome),
            Err(error) => console::say(&format!("a schedule was not run to its end: {error}")),
        }
    }
    report.seconds = begun.elapsed().as_secs();
    report
}

async fn one(seed: u64, database: Database, servers: &Servers) -> (Schedule, Database, std::time::Duration, Outcome) {
    let begun = clock::now();
    let schedule = Schedule::of(seed);
    let outcome = run::run(&schedule, database, servers).await;
    let failed = |error: anyhow::Error| Outcome { broken: vec![format!("{error:#}")], ..Outcome::default() };
    (schedule, database, begun.elapsed(), outcome.unwrap_or_else(failed))
}

/// Some schedules of each kind, for `cargo xtask test`.
///
/// # Errors
/// When nothing can be started, or an invariant is broken.
pub fn check() -> Result<()> {
    in_process(None)?;
    build::exclusive(build::services)?;
    let report = run_seeds(&FIXED, None, 3)?;
    console::say(&report.sentence());
    anyhow::ensure!(report.failed.is_empty(), "a schedule of faults broke an invariant");
    Ok(())
}

/// The origin's own test of faults inside its process; without options, the seeds that it has by itself.
fn in_process(options: Option<&Options>) -> Result<()> {
    tools::ensure_apt("redis-server")?;
    let mut tests = command::cargo();
    // `--workspace`: another choice of packages would unite features in another way, and build everything again.
    tests.args(["test", "--workspace", "--lib", "--", "--ignored", "--nocapture", "wherever_a_call_fails"]);
    if let Some(Options { seed, schedules, .. }) = options {
        tests.env("SLUICE_FAULTS", format!("{seed}..{}", seed.saturating_add(schedules - 1)));
    }
    command::run(&mut tests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedule::What;

    #[test]
    fn the_fixed_seeds_hold_each_kind_of_fault_on_each_database() {
        let all: Vec<Schedule> = FIXED.iter().map(|seed| Schedule::of(*seed)).collect();
        let kinds: BTreeSet<&str> = all.iter().flat_map(|s| &s.faults).map(|fault| fault.what.name()).collect();
        assert_eq!(kinds.len(), 9, "{kinds:?}");
        let databases: BTreeSet<Database> = FIXED.iter().map(|seed| Database::of(*seed)).collect();
        assert_eq!(databases.len(), 3);
        let stops = |s: &Schedule| s.faults.iter().any(|fault| matches!(fault.what, What::StopOrigin(_)));
        assert!(all.iter().any(|s| s.origins == 2 && stops(s)));
    }
}
