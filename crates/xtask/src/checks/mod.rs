//! `cargo xtask test`: everything that must hold before a change is good. Continuous integration calls just that.

mod browser;
mod cargo;
mod deny;
mod part;
mod tree;
mod web;

pub use part::Part;

use crate::{clock, console};
use anyhow::{Result, bail};
use comfy_table::{Table, presets};
use std::time::Duration;

/// What became of one part.
struct Outcome {
    part: Part,
    took: Duration,
    ok: bool,
}

/// Runs the parts, all when none is named, in their own order. Stops at the first that fails unless `keep_going`.
///
/// # Errors
/// When a part fails.
pub fn run(parts: &[Part], keep_going: bool) -> Result<()> {
    let begun = clock::now();
    let mut outcomes = Vec::new();
    for part in Part::ALL.into_iter().filter(|part| parts.is_empty() || parts.contains(part)) {
        let outcome = one(part);
        let ok = outcome.ok;
        outcomes.push(outcome);
        if !ok && !keep_going {
            break;
        }
    }
    console::say(&format!("\n{}\nall in {}", table(&outcomes), clock::human(begun.elapsed())));
    let failed: Vec<&str> = outcomes.iter().filter(|outcome| !outcome.ok).map(|outcome| outcome.part.name()).collect();
    if !failed.is_empty() {
        bail!("failed: {}. One part alone: `cargo xtask test {}`", failed.join(", "), failed.join(" "));
    }
    Ok(())
}

fn one(part: Part) -> Outcome {
    console::heading(&format!("{}: {}", part.name(), part.about()));
    let begun = clock::now();
    let result = part.run();
    let took = begun.elapsed();
    if let Err(error) = &result {
        console::say(&format!("{} {error:#}", console::paint(31, "failed:")));
    }
    let word = if result.is_ok() { "ok" } else { "FAILED" };
    console::say(&format!("-- {} {word} in {}", part.name(), clock::human(took)));
    Outcome { part, took, ok: result.is_ok() }
}

fn table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    for outcome in outcomes {
        let word = if outcome.ok { "ok" } else { "FAILED" };
        table.add_row([outcome.part.name().to_owned(), word.to_owned(), clock::human(outcome.took)]);
    }
    table
}
