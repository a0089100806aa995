//! `cargo xtask gate`: the document that takes the place of the embedded gate.toml while the gate runs.

use crate::{command, console, paths};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use sluice::config::{Fault, Gate};
use sluice::gate::edition::Document;
use std::fs;
use std::path::PathBuf;

/// What is to be done with a document.
#[derive(Debug, Clone, Subcommand)]
pub enum Task {
    /// Check a gate.toml and tell its version. Exits with 1 and every mistake when it is faulty.
    Check(File),
    /// Print a checked gate.toml as the JSON that the KV binding `GATE` holds under the key `gate`.
    Print(File),
    /// Check a gate.toml and put it into the KV namespace that wrangler.toml binds as `GATE`.
    Push(Push),
}

/// A gate.toml.
#[derive(Debug, Clone, Args)]
pub struct File {
    /// The file; the repository's own when it is left out.
    path: Option<PathBuf>,
}

/// Where a gate.toml goes.
#[derive(Debug, Clone, Args)]
pub struct Push {
    #[command(flatten)]
    file: File,
    /// Into the storage of `wrangler dev` on this machine instead of Cloudflare's.
    #[arg(long)]
    local: bool,
    /// The folder of that storage, where it is not wrangler's own.
    #[arg(long, requires = "local")]
    persist_to: Option<PathBuf>,
}

/// Does it.
///
/// # Errors
/// When the document is faulty, or what the running gate would refuse; when wrangler fails.
pub fn run(task: &Task) -> Result<()> {
    match task {
        Task::Check(file) => {
            let (json, name) = checked(file)?;
            console::result(&format!("{name} is sound: version {}", Document::version_of(&json)));
        }
        Task::Print(file) => console::result(&checked(file)?.0),
        Task::Push(push) => {
            let (json, name) = checked(&push.file)?;
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("gate.json");
            fs::write(&path, &json).with_context(|| format!("cannot write {}", path.display()))?;
            let mut wrangler = command::node("wrangler");
            wrangler.args(["kv", "key", "put", "gate", "--binding", "GATE", "--path"]).arg(&path);
            wrangler.arg(if push.local { "--local" } else { "--remote" });
            if let Some(folder) = &push.persist_to {
                wrangler.arg("--persist-to").arg(folder);
            }
            command::run(&mut wrangler)?;
            console::result(&format!("{name} is on its way: version {}", Document::version_of(&json)));
        }
    }
    Ok(())
}

/// The document as JSON, and the file's name.
fn checked(file: &File) -> Result<(String, String)> {
    let own = paths::root().join("gate.toml");
    let path = file.path.clone().unwrap_or_else(|| own.clone());
    let name = path.display().to_string();
    let read = |path: &PathBuf| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let text = read(&path)?;
    let json = Gate::to_json(&text).map_err(|faults| told(&name, &faults))?;
    // What is embedded is this repository's; a document of another prefix would be refused where it runs.
    if let (Ok(embedded), Ok(next)) = (Gate::parse(&read(&own)?), Gate::parse(&text)) {
        let faults = embedded.refuses(&next, false);
        if !faults.is_empty() {
            return Err(told(&name, &faults));
        }
    }
    Ok((json, name))
}

fn told(name: &str, faults: &[Fault]) -> anyhow::Error {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("{name} has {} mistakes:\n  {}", faults.len(), lines.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, to: &str) -> Result<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.toml");
        let text = fs::read_to_string(paths::root().join("gate.toml")).unwrap();
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        checked(&File { path: Some(path) })
    }

    #[test]
    fn what_a_running_gate_would_refuse_is_refused_before_it_leaves() {
        assert!(check("rate = \"2/s\"", "rate = \"4/s\"").is_ok());
        let faulty = check("rate = \"2/s\"", "rate = \"0/s\"").unwrap_err().to_string();
        assert!(faulty.contains("1 mistakes") && faulty.contains("gate.toml:"), "{faulty}");
        let moved = check("prefix = \"sl1\"", "prefix = \"sl2\"").unwrap_err().to_string();
        assert!(moved.contains("`prefix` cannot change"), "{moved}");
    }
}
