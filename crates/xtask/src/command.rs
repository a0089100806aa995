//! Running other programs, with errors that say which one and what it printed.

use crate::{console::Step, paths};
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

/// How many lines of a program's output an error shows.
pub const TAIL: usize = 30;

/// Runs `command` with its output shown as it comes.
///
/// # Errors
/// When it cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs `command` quietly and returns what it wrote to stdout; a failure shows the end of its output.
///
/// # Errors
/// When it cannot be started or fails.
pub fn capture(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{shown}`"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let text = format!("{stdout}{stderr}");
        bail!("`{shown}` failed ({})\n{}", output.status, tail(&text, TAIL));
    }
    Ok(stdout)
}

/// Runs `command` quietly as a step with progress.
///
/// # Errors
/// When it cannot be started or fails.
pub fn step(label: &str, command: &mut Command) -> Result<String> {
    let step = Step::start(label);
    let output = capture(command)?;
    step.done("done");
    Ok(output)
}

/// `cargo`, free of what an outer `cargo run` or `cargo test` says about *its* package: build scripts
/// that watch such variables would otherwise rebuild each time.
#[must_use]
pub fn cargo() -> Command {
    runs_cargo(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Another program that runs cargo, free of the same.
#[must_use]
pub fn runs_cargo(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(paths::root());
    for (name, _) in std::env::vars_os() {
        if belongs_to_a_package(&name) {
            command.env_remove(name);
        }
    }
    command
}

fn belongs_to_a_package(name: &OsStr) -> bool {
    const PREFIXES: [&str; 5] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    let name = name.to_string_lossy();
    name == "OUT_DIR" || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A program of `node_modules/.bin`, run by the Node of that same folder, and silent about itself.
#[must_use]
pub fn node(program: &str) -> Command {
    let mut command = Command::new(paths::node_bin().join(program));
    command
        .current_dir(paths::root())
        .env("PATH", path_with_node())
        .env("WRANGLER_SEND_METRICS", "false")
        .env("NO_UPDATE_NOTIFIER", "1")
        .env("npm_config_update_notifier", "false");
    command
}

/// `PATH` with `node_modules/.bin` first: a `#!/usr/bin/env node` then finds the pinned Node.
#[must_use]
pub fn path_with_node() -> OsString {
    let mut path = OsString::from(paths::node_bin());
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

/// The last `lines` lines of `text`.
#[must_use]
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
        assert_eq!(tail("", 2), "");
    }

    #[test]
    fn a_failure_names_the_program_and_shows_its_output() {
        let error = capture(Command::new("sh").args(["-c", "echo reason >&2; exit 3"]));
        let text = format!("{:#}", error.unwrap_err());
        assert!(text.contains("`sh -c"), "{text}");
        assert!(text.contains("reason"), "{text}");
    }

    #[test]
    fn variables_of_the_outer_package_are_known() {
        assert!(belongs_to_a_package(OsStr::new("CARGO_PKG_NAME")));
        assert!(!belongs_to_a_package(OsStr::new("CARGO_HOME")));
        assert!(!belongs_to_a_package(OsStr::new("CARGO_TARGET_DIR")));
    }
}
