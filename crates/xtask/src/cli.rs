//! The command line.

use crate::build::{self, Variant};
use crate::{console, deploy};
use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

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
        Command::Deploy { dry_run } => deploy::run(dry_run)?,
    }
    Ok(ExitCode::SUCCESS)
}
