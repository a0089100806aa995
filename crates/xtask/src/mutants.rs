//! `cargo xtask mutants`: changes the decisions one by one, and asks the tests that need no service whether they notice.

use crate::{command, console, paths};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Pinned, so that the names of mutants stay those that [`ACCEPTED`] lists.
const VERSION: &str = "27.1.0";

/// Where decisions are made.
const DECISIONS: [&str; 6] =
    ["src/model/**", "src/admit/**", "src/shed/**", "src/script/**", "src/identity/**", "src/token.rs"];

/// Names each mutant that may survive, and why.
const ACCEPTED: &str = "docs/mutants.md";

/// cargo-mutants' exit codes for a run that went to its end: all caught, some missed, some timed out.
const TO_THE_END: [i32; 3] = [0, 2, 3];

/// What is changed.
#[derive(Debug, Args)]
pub struct Options {
    /// Files, as globs; all that decide when none is named.
    pub files: Vec<String>,
    /// One part of the work, as `0/8` to `7/8`.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<String>,
    /// Only list the mutants.
    #[arg(long)]
    pub list: bool,
}

/// Runs cargo-mutants on a copy of the tree; what it builds and writes is below `target/mutants`.
///
/// # Errors
/// When a mutant survives that docs/mutants.md does not name, or the tests fail without any change.
pub fn run(options: &Options) -> Result<()> {
    let folder = paths::target()?.join("mutants");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut mutants = command::runs_cargo(installed(&folder)?);
    mutants.args(["mutants", "--package", "sluice", "--colors", "never"]);
    for file in chosen(options) {
        mutants.args(["--file", file]);
    }
    if let Some(shard) = &options.shard {
        mutants.args(["--shard", shard]);
    }
    if options.list {
        return command::run(mutants.arg("--list"));
    }
    mutants.args(["--gitignore", "true", "--no-shuffle", "--output"]).arg(&folder);
    mutants.env("CARGO_TARGET_DIR", folder.join("build"));
    // Each mutant is linked anew; without debug information that is most of the time saved.
    mutants.envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_PROFILE_TEST_DEBUG", "0")]);
    mutants.args(["--", "--lib", "--test", "spec"]);
    let status = mutants.stdin(Stdio::null()).status().context("cannot start cargo-mutants")?;
    let ended = status.code().is_some_and(|code| TO_THE_END.contains(&code));
    ensure!(ended, "cargo-mutants failed ({status}); its report is in {}", folder.join("mutants.out").display());
    judge(&folder.join("mutants.out"))
}

fn chosen(options: &Options) -> Vec<&str> {
    if options.files.is_empty() { DECISIONS.to_vec() } else { options.files.iter().map(String::as_str).collect() }
}

/// cargo-mutants of the pinned version, below `folder`; built there when it is missing.
fn installed(folder: &Path) -> Result<PathBuf> {
    let root = folder.join(VERSION);
    let program = root.join("bin/cargo-mutants");
    if !program.is_file() {
        let mut install = command::cargo();
        install.args(["install", "cargo-mutants", "--version", VERSION, "--debug", "--root"]).arg(&root);
        command::step(&format!("cargo-mutants {VERSION}: building"), &mut install)?;
    }
    Ok(program)
}

/// Compares what survived with what may.
fn judge(report: &Path) -> Result<()> {
    let read = |name: &str| fs::read_to_string(report.join(name)).unwrap_or_default();
    let caught = read("caught.txt").lines().count();
    // One that makes the tests hang is noticed too.
    let hung = read("timeout.txt").lines().count();
    let survived = names(&read("missed.txt"));
    let path = paths::root().join(ACCEPTED);
    let accepted = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let unknown: Vec<&String> = survived.iter().filter(|name| !accepted.contains(&format!("`{name}`"))).collect();
    console::say(&format!(
        "{caught} caught, {hung} hung, {} kinds survived, {} of them unknown",
        survived.len(),
        unknown.len()
    ));
    if !unknown.is_empty() {
        let list: Vec<&str> = unknown.into_iter().map(String::as_str).collect();
        bail!("the tests do not notice these, and {ACCEPTED} does not name them:\n  {}", list.join("\n  "));
    }
    Ok(())
}

/// Mutants by file and change, without line and column, which move with every edit.
fn names(report: &str) -> BTreeSet<String> {
    let name = |line: &str| -> Option<String> {
        let mut parts = line.splitn(4, ':');
        let (file, _, _, change) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(format!("{file}:{change}"))
    };
    report.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_named_without_its_line() {
        let report = "src/token.rs:84:9: replace == with != in f\nsrc/token.rs:90:9: replace == with != in f\n";
        assert_eq!(names(report).into_iter().collect::<Vec<_>>(), ["src/token.rs: replace == with != in f"]);
        assert!(names("").is_empty());
    }

    #[test]
    fn every_mutant_that_may_survive_has_its_reason_and_its_file() {
        let text = fs::read_to_string(paths::root().join(ACCEPTED)).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("| `src/") && line.contains(".rs: "));
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, reason] = cells.as_slice() else { panic!("{row}") };
            let file = name.trim_matches('`').split(':').next().unwrap();
            assert!(paths::root().join(file).is_file(), "{row}");
            assert!(reason.len() > 20, "{row}");
        }
    }
}
