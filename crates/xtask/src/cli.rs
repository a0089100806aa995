//! The command line.

use crate::build::{self, Variant};
use crate::{bench, checks, conformance, console, deploy, dev, faults, fuzz, gate, mutants, rush, user};
use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use std::time::Duration;

/// Builds, runs, tests and loads Sluice. Everything that is missing is installed by itself.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the edge: `build/worker.js` and `build/sluice_bg.wasm`.
    Build {
        /// Build the variant that speaks to Redis through reqwest, into `build/reqwest`.
        #[arg(long)]
        reqwest: bool,
    },
    /// Run everything on this machine: redis-server, bridge, origin, the Worker under `wrangler dev`.
    ///
    /// Installs what is missing, opens a demonstration sale and prints lines to paste. The data is kept in `.dev`
    /// until `--fresh`. Ctrl-C stops everything.
    Dev(dev::Options),
    /// Run a flash sale as load and check the books of Redis and SQL afterwards.
    ///
    /// Uses the running `cargo xtask dev`, with a sale of its own, or else a stack of its own on free ports. Exits
    /// with 1 when an invariant is broken.
    Rush(rush::Options),
    /// Break real processes at random while a sale goes on, mend them, and check the books.
    ///
    /// Each schedule has a seed, and a Redis, a database and one or two origins of its own. Exits with 1 when an invariant
    /// is broken, and prints the command that runs the same schedule again.
    Faults(faults::Options),
    /// Run all checks and tests, or the named parts of them. Installs what it needs.
    Test {
        /// The parts; all when none is named.
        parts: Vec<checks::Part>,
        /// Run the other parts too when one fails.
        #[arg(long)]
        keep_going: bool,
    },
    /// Run the published npm clients against the bridge. Exits with 1 when a check fails.
    Conformance {
        /// Print one JSON object on stdout.
        #[arg(long)]
        json: bool,
    },
    /// Measure the gate beside what would be deployed in its place, on this machine, in one run.
    ///
    /// All contenders run in the same workerd on the same Redis, in turns. A target that is missed is reported and is no
    /// failure; a request with an answer that its scenario does not allow is one.
    Bench(bench::Options),
    /// Check a gate.toml, or put it in force while the gate runs.
    #[command(subcommand)]
    Gate(gate::Task),
    /// Fuzz what reads foreign input: requests, tokens, JWTs, replies, gate.toml. Stops at the first find.
    Fuzz(fuzz::Options),
    /// Change what decides, one spot at a time, and see whether a test without services notices. Takes hours.
    Mutants(mutants::Options),
    /// Print the JWT of a user, signed with the secret of `cargo xtask dev`.
    User {
        /// The user's id.
        id: String,
        /// How long it holds: 90s, 15m, 1h, 7d.
        #[arg(long, default_value = "1h", value_parser = user::duration)]
        ttl: Duration,
    },
    /// Deploy the edge to Cloudflare Workers.
    Deploy {
        /// Only show what would be deployed. Works without network and account.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs what the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.command) {
        Ok(code) => code,
        Err(error) => {
            console::say(&format!("{} {error:#}", console::paint(31, "error:")));
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<ExitCode> {
    match *command {
        Command::Build { reqwest } => {
            let variant = if reqwest { Variant::Reqwest } else { Variant::Fetch };
            let edge = build::exclusive(|| build::edge(variant))?;
            let state = if edge.fresh { "built" } else { "up to date" };
            console::say(&format!("edge {state}: {}", edge.size.human()));
        }
        Command::Dev(ref options) if options.check => dev::check(options)?,
        Command::Dev(ref options) => dev::run(options)?,
        Command::Rush(ref options) => {
            let holds = rush::run(options)?;
            return Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Faults(ref options) => {
            let holds = faults::run(options)?;
            return Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Test { ref parts, keep_going } => checks::run(parts, keep_going)?,
        Command::Conformance { json } => {
            let report = conformance::run()?;
            report.print(json)?;
            return Ok(if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Bench(ref options) => bench::run(options)?,
        Command::Gate(ref task) => gate::run(task)?,
        Command::Fuzz(ref options) => fuzz::run(options)?,
        Command::Mutants(ref options) => mutants::run(options)?,
        Command::User { ref id, ttl } => {
            console::result(&user::jwt(&dev::secrets()?.user_jwt, id, ttl)?);
        }
        Command::Deploy { dry_run } => deploy::run(dry_run)?,
    }
    Ok(ExitCode::SUCCESS)
}
