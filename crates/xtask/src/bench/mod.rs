//! `cargo xtask bench`: the gate beside what its users would deploy in its place.
//!
//! Absolute figures belong to the machine; what counts are the quotients within one round of one run.

#![allow(clippy::float_arithmetic, reason = "rates and ratios are fractions")]
#![allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]

mod chart;
mod cold;
mod commands;
mod contender;
mod effort;
mod field;
mod growth;
mod load;
mod machine;
mod measure;
mod orders;
mod peer;
mod process;
mod report;
mod results;
mod rush;
mod scenario;
mod show;
mod target;

pub use scenario::Scenario;

use crate::build::{self, Variant};
use crate::console;
use anyhow::Result;
use clap::ValueEnum;
use effort::Effort;
use field::Field;
use results::Results;

/// How it is run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only this scenario; all when none is named.
    scenario: Option<Scenario>,
    /// Short runs, within 10 minutes; `growth` with 100,000 subjects instead of 1,000,000. Writes no report.
    #[arg(long)]
    quick: bool,
    /// How often each contender has its turn, in place of 5, or 3 with `--quick`; the rush is run half as often.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Print the targets as one JSON object on one line of stdout.
    #[arg(long)]
    json: bool,
}

/// Measures and reports.
///
/// # Errors
/// When something cannot be built or started, or a request has an answer that its scenario does not allow.
/// A target that is missed is no error.
pub fn run(options: &Options) -> Result<()> {
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    let effort = options.rounds.map_or(effort, |rounds| effort.of_rounds(rounds));
    let scenarios = options.scenario.map_or_else(|| Scenario::value_variants().to_vec(), |one| vec![one]);
    let results = tokio::runtime::Runtime::new()?.block_on(measure_all(&scenarios, effort))?;
    let targets = target::all(&results);
    console::say(&show::text(&results, &targets));
    if options.scenario.is_none() && !options.quick {
        let path = report::write(&results, &targets, effort)?;
        console::say(&format!("written: {}", path.display()));
    }
    if options.json {
        console::result(&target::json(&targets));
    }
    Ok(())
}

async fn measure_all(scenarios: &[Scenario], effort: Effort) -> Result<Results> {
    let mut field = Field::start().await?;
    let mut results = Results::default();
    for scenario in scenarios {
        let field = &mut field;
        match scenario {
            Scenario::Admitted | Scenario::OverLimit | Scenario::Duplicates | Scenario::SoldOut => {
                results.flows.insert(*scenario, scenario::run(field, *scenario, effort).await?);
            }
            Scenario::Rush => {
                results.flows.insert(*scenario, rush::run(field, effort).await?);
            }
            Scenario::Cold => results.cold = Some(cold::run(field, effort).await?),
            Scenario::Growth => results.growth = Some(growth::run(field, effort).await?),
            Scenario::Redis => results.commands = Some(commands::run(field, effort).await?),
            Scenario::Size => {
                let edge = tokio::task::spawn_blocking(|| build::edge(Variant::Fetch)).await??;
                results.size = Some(edge.size);
            }
        }
    }
    Ok(results)
}
