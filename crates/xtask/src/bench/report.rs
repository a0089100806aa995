//! `docs/bench/`: the tables in Markdown, a chart a scenario, and what they were measured on.

use super::chart;
use super::contender::Contender;
use super::effort::Effort;
use super::machine;
use super::measure::{Sample, Spread};
use super::results::Results;
use super::scenario::Rounds;
use super::show::{self, Sheet};
use super::target::{self, Target};
use crate::paths;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the report and returns its path.
pub(super) fn write(results: &Results, targets: &[Target], effort: Effort) -> Result<PathBuf> {
    let folder = paths::root().join("docs/bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut text = head(effort)?;
    markdown(&mut text, &show::promised(targets))?;
    for sheet in show::sheets(results) {
        markdown(&mut text, &sheet)?;
        if let Some((_, rounds)) = results.flows.iter().find(|(scenario, _)| scenario.name() == sheet.title) {
            for (figure, what) in [("rate", "requests per second"), ("cpu", "workerd CPU µs per request")] {
                let name = format!("{}-{figure}.svg", sheet.title);
                draw(&folder.join(&name), &format!("{}: {what}", sheet.title), rounds, figure)?;
                writeln!(text, "![{}: {what}]({name})", sheet.title)?;
            }
        }
    }
    let path = folder.join("README.md");
    fs::write(&path, text)?;
    fs::write(folder.join("targets.json"), target::json(targets) + "\n")?;
    Ok(path)
}

fn head(effort: Effort) -> Result<String> {
    let mut text = String::from(
        "# The benchmark\n
Written by `cargo xtask bench`; [notes.md](notes.md) says what the figures mean and where the time goes. Contenders are in
`bench/peers`: (a) to (c) do equal work, which is to verify the user's JWT and the order token, to ask both buckets, to claim
the operation, and to forward it with a signed assertion; the origin completes the claim in Redis for each of them. All run in
the same workerd, on the same Redis, in turns; figures are medians of the rounds, and targets are medians of the rounds'
quotients. Load: wrk, one thread, 32 connections. `to Redis` and `to origin` are HTTP requests a request.\n\n",
    );
    writeln!(text, "{} rounds of {} s. {}", effort.rounds, effort.seconds, machine::describe()?)?;
    Ok(text)
}

fn markdown(text: &mut String, sheet: &Sheet) -> Result<()> {
    writeln!(text, "\n## {}\n", sheet.title)?;
    writeln!(text, "| {} |", sheet.heads.join(" | "))?;
    writeln!(text, "|{}", "---|".repeat(sheet.heads.len()))?;
    for row in &sheet.rows {
        writeln!(text, "| {} |", row.join(" | "))?;
    }
    writeln!(text)?;
    Ok(())
}

fn draw(path: &Path, title: &str, rounds: &Rounds, figure: &str) -> Result<()> {
    let value = |sample: &Sample| if figure == "cpu" { sample.cpu_us } else { sample.rate };
    let bar = |(contender, samples): (&Contender, &Vec<Sample>)| {
        let spread = Spread::of(samples.iter().map(value))?;
        Some((contender.title(), spread))
    };
    let bars: Vec<_> = rounds.iter().filter_map(bar).collect();
    chart::draw(path, title, &bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_becomes_a_table_of_markdown() {
        let mut text = String::new();
        let rows = vec![vec!["x".to_owned(), "1".to_owned()]];
        markdown(&mut text, &Sheet { title: "size".to_owned(), heads: vec!["a", "b"], rows }).unwrap();
        assert_eq!(text, "\n## size\n\n| a | b |\n|---|---|\n| x | 1 |\n\n");
    }
}
