//! `cargo xtask conformance`: the published npm clients against the bridge and a real redis-server.
//!
//! The scenarios are `crates/bridge/conformance/*.mjs`; the clients are pinned in `package-lock.json`.

use crate::stack::{AppendFsync, Part, Stack};
use crate::{build, command, console, paths, tools};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::process::Stdio;

/// What came out of the scenarios.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// How many checks hold.
    pub passed: u32,
    /// How many do not.
    pub failed: u32,
    /// One line for each that does not.
    pub failures: Vec<String>,
}

impl Report {
    /// Prints it, as one JSON object or for people.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            console::result(&serde_json::to_string(self)?);
            return Ok(());
        }
        for failure in &self.failures {
            console::say(&format!("{} {failure}", console::paint(31, "failed:")));
        }
        console::result(&format!("passed {}, failed {}", self.passed, self.failed));
        Ok(())
    }
}

/// Runs all scenarios.
///
/// # Errors
/// When something is missing or the scenarios do not come to their end. A failed check is no error.
pub fn run() -> Result<Report> {
    tools::ensure_apt("redis-server")?;
    tools::ensure_node_modules()?;
    build::exclusive(build::services)?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let wish = Stack::builder().only(&[Part::Redis, Part::Bridge]).appendfsync(AppendFsync::No).already_built();
        let stack = wish.start().await?;
        let (url, token) = (stack.bridge_url(), stack.secrets().bridge.clone());
        let report = tokio::task::spawn_blocking(move || scenarios(&url, &token)).await?;
        let report = report.with_context(|| stack.logs());
        tokio::task::spawn_blocking(move || drop(stack)).await?;
        report
    })
}

fn scenarios(url: &str, token: &str) -> Result<Report> {
    let mut node = command::node("node");
    node.arg(paths::root().join("crates/bridge/conformance/run.mjs"))
        .env("UPSTASH_REDIS_REST_URL", url)
        .env("UPSTASH_REDIS_REST_TOKEN", token)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = node.output().context("cannot start node")?;
    serde_json::from_slice(&output.stdout).context("the scenarios did not come to their end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_scenarios_print_is_understood() {
        let report: Report = serde_json::from_str(r#"{"passed":2,"failed":1,"failures":["a: b"]}"#).unwrap();
        assert_eq!((report.passed, report.failed, report.failures.len()), (2, 1, 1));
    }
}
