//! What cargo itself checks and tests.
//!
//! Always `--workspace`: another choice of packages would unite features in another way, and build everything again.

use crate::stack::{SqlKind, SqlServer};
use crate::{command, console, tools};
use anyhow::Result;

pub(super) fn fmt() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])
}

pub(super) fn clippy() -> Result<()> {
    tools::ensure_wasm_target()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    let wasm = ["clippy", "--target", "wasm32-unknown-unknown", "--package", "sluice", "--lib"];
    cargo(&[&wasm[..], &["--", "-D", "warnings"]].concat())?;
    cargo(&[&wasm[..], &["--features", "reqwest", "--", "-D", "warnings"]].concat())
}

pub(super) fn spec() -> Result<()> {
    cargo(&["test", "--workspace", "--lib", "--bins", "--test", "spec", "--test", "tidy"])?;
    cargo(&["test", "--workspace", "--doc"])
}

/// Test binaries that start redis-server.
pub(super) fn with_redis(binaries: &[&str]) -> Result<()> {
    tools::ensure_apt("redis-server")?;
    let mut words = vec!["test", "--workspace"];
    words.extend(binaries.iter().flat_map(|name| ["--test", name]));
    cargo(&words)
}

/// What the layout of the keys can break: a part of tests/live, with three masters and 16 partitions behind it.
pub(super) fn live_cluster() -> Result<()> {
    tools::ensure_apt("redis-server")?;
    let mut tests = command::cargo();
    tests.args(["test", "--workspace", "--test", "live", "--"]).env("LIVE_REDIS", "cluster");
    tests.args(["orders::", "claim::", "replay::", "faults::", "race::", "origin_away::"]);
    command::run(&mut tests)
}

/// The origin's tests, once for each database. They have an SQLite file each; of the others, all tests share one server.
pub(super) fn origin() -> Result<()> {
    with_redis(&["origin"])?;
    for kind in [SqlKind::Postgres, SqlKind::MariaDb] {
        console::say(&format!("-- the same on {}", kind.name()));
        let server = SqlServer::start(kind)?;
        let mut tests = command::cargo();
        tests.args(["test", "--workspace", "--test", "origin"]).env("SLUICE_TEST_SQL", server.url());
        command::run(&mut tests)?;
    }
    Ok(())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    command::run(command::cargo().args(arguments))
}
