//! `cargo xtask fuzz`: the targets of `fuzz/` under libFuzzer, on stable Rust.

use crate::{command, console, paths, tools};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// LLVM's own coverage passes; what libFuzzer steers by.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Longest input, in bytes: more than any header or token that the gate reads, and than gate.toml.
const LONGEST: usize = 8_192;

/// What is fuzzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// Whole requests through the gate, with any answers of Redis and the origin.
    Request,
    /// Order tokens.
    Token,
    /// User JWTs.
    Jwt,
    /// Replies of Redis and of what stands before it.
    Reply,
    /// gate.toml.
    Config,
}

/// How long, and what.
#[derive(Debug, Args)]
pub struct Options {
    /// The targets; all when none is named.
    pub targets: Vec<Target>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Run one target once, with the input in this file.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// Builds the targets and runs them one after the other. What they learn is kept in `target/fuzz` for the next run.
///
/// # Errors
/// When a target finds an input that breaks it; the message names the file that holds it.
pub fn run(options: &Options) -> Result<()> {
    let folder = build()?;
    let chosen = Target::value_variants().iter().filter(|t| options.targets.is_empty() || options.targets.contains(t));
    if let Some(input) = &options.replay {
        let [target] = options.targets.as_slice() else { anyhow::bail!("--replay needs exactly one target") };
        return command::run(Command::new(folder.join(target.name())).arg(input));
    }
    for target in chosen {
        target.fuzz(&folder, options.seconds)?;
    }
    Ok(())
}

/// The folder of the built targets.
fn build() -> Result<PathBuf> {
    // libFuzzer itself is C++.
    tools::ensure_apt("g++")?;
    let host = command::capture(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let host = host.trim();
    let target = paths::target()?.join("fuzz");
    let mut cargo = command::cargo();
    cargo.current_dir(paths::root().join("fuzz")).env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"));
    // With a target named, build scripts and macros are left without the flags.
    cargo.args(["build", "--release", "--locked", "--target", host, "--target-dir"]).arg(&target);
    command::step("fuzz targets: building", &mut cargo)?;
    Ok(target.join(host).join("release"))
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Token => "token",
            Self::Jwt => "jwt",
            Self::Reply => "reply",
            Self::Config => "config",
        }
    }

    fn fuzz(self, folder: &Path, seconds: u64) -> Result<()> {
        ensure!(seconds > 0, "--seconds must be at least 1: libFuzzer takes 0 for no end");
        let name = self.name();
        let kept = paths::target()?.join("fuzz");
        let (corpus, finds) = (kept.join("corpus").join(name), kept.join("finds"));
        for folder in [&corpus, &finds] {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        if self == Self::Config {
            fs::copy(paths::root().join("gate.toml"), corpus.join("gate.toml"))?;
        }
        let mut fuzzer = Command::new(folder.join(name));
        fuzzer.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={LONGEST}"));
        fuzzer.arg(format!("-artifact_prefix={}/{name}-", finds.display())).arg("-print_final_stats=1").arg(&corpus);
        // libFuzzer tells on stderr how it goes; the folded stream also shows a find.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(fuzzer.get_program()).args(fuzzer.get_args());
        let output = command::step(&format!("fuzz {name}: {seconds} s"), &mut shell)
            .with_context(|| format!("{name} broke; again: cargo xtask fuzz {name} --replay <the file named below>"))?;
        console::say(&format!("{name}: {} inputs, none broke it", runs(&output).unwrap_or("?")));
        Ok(())
    }
}

/// The number in libFuzzer's `Done 1234 runs in 60 second(s)`.
fn runs(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.strip_prefix("Done ")?.split(' ').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_runs_is_read_from_the_last_lines() {
        assert_eq!(runs("#1 NEW\nDone 190309 runs in 61 second(s)\n"), Some("190309"));
        assert_eq!(runs("nothing"), None);
    }

    #[test]
    fn every_target_is_a_binary_of_the_fuzz_folder() {
        let manifest = fs::read_to_string(paths::root().join("fuzz/Cargo.toml")).unwrap();
        for target in Target::value_variants() {
            assert!(manifest.contains(&format!("name = \"{}\"", target.name())), "{target:?}");
        }
    }
}
