//! The native services, built beside the running executable.

use crate::{command, paths};
use anyhow::Result;
use std::path::PathBuf;

/// The binaries that a stack is made of.
pub const SERVICES: [&str; 2] = ["sluice-bridge", "sluice-origin"];

/// Builds the bridge and the origin in the profile and target folder of the running executable.
///
/// # Errors
/// When they do not compile.
pub fn services() -> Result<()> {
    let mut cargo = command::cargo();
    // xtask is named so that features are united as they were for xtask itself (see its Cargo.toml); it is built already.
    cargo.args(["build", "--package", "xtask"]);
    for package in SERVICES {
        cargo.args(["--package", package]);
    }
    if paths::profile_folder()?.ends_with("release") {
        cargo.arg("--release");
    }
    cargo.arg("--target-dir").arg(paths::target()?);
    command::run(&mut cargo)
}

/// What runs beside the edge under load.
const LOADED: [&str; 2] = ["sluice-bridge", "sluice-bench-origin"];

/// Builds the bridge and the bench's origin optimised, and returns the folder that holds them.
///
/// # Errors
/// When they do not compile.
pub fn loaded() -> Result<PathBuf> {
    let mut cargo = command::cargo();
    cargo.args(["build", "--profile", "load"]);
    for package in LOADED {
        cargo.args(["--package", package]);
    }
    let target = paths::target()?;
    cargo.arg("--target-dir").arg(&target);
    command::run(&mut cargo)?;
    Ok(target.join("load"))
}
