//! What a report was measured on.

use crate::{command, paths};
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// Machine, versions and commit, in one sentence each.
pub(super) fn describe() -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let commit =
        command::capture(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(paths::root()))
            .unwrap_or_else(|_| "not in git".to_owned());
    let rustc = command::capture(Command::new("rustc").arg("--version"))?;
    let redis = command::capture(Command::new("redis-server").arg("--version")).unwrap_or_default();
    let versions = ["workerd", "@upstash/ratelimit", "@upstash/redis", "jose"].map(|package| {
        let version = version(package).unwrap_or_else(|_| "unknown".to_owned());
        format!("{package} {version}")
    });
    Ok(format!(
        "Machine: {cores} cores, {}; load, Redis, bridge, origin and workerd share them. Commit {}. {}, redis-server {}, {}.",
        model(&cpus).unwrap_or("unknown processor"),
        commit.trim(),
        rustc.split(" (").next().unwrap_or_default().trim(),
        redis.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("unknown"),
        versions.join(", "),
    ))
}

fn model(cpus: &str) -> Option<&str> {
    cpus.lines().find_map(|line| line.strip_prefix("model name"))?.split_once(": ").map(|(_, name)| name.trim())
}

fn version(package: &str) -> Result<String> {
    let path = paths::root().join("node_modules").join(package).join("package.json");
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    json.get("version").and_then(serde_json::Value::as_str).map(str::to_owned).context("no version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named() {
        assert_eq!(model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), Some("Some CPU @ 2 GHz"));
        assert_eq!(model(""), None);
    }
}
