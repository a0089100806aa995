//! `cargo build` of the edge for wasm32.

use super::Variant;
use crate::{command, paths};
use anyhow::Result;
use std::path::PathBuf;

/// Compiles the root package and returns the path of the WebAssembly that rustc made.
pub(super) fn edge(variant: Variant) -> Result<PathBuf> {
    let target = match variant {
        Variant::Fetch => paths::target()?,
        // A folder of its own: both variants have one file name, and would take turns in replacing each other.
        Variant::Reqwest => paths::target()?.join("reqwest"),
    };
    let mut cargo = command::cargo();
    cargo.args(["build", "--release", "--lib", "--package", "sluice"]);
    // Level 3 made the wasm 5 KB larger gzipped, and cost the same CPU within noise; "s" saved 27 KB and cost an eighth more.
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2");
    cargo.args(["--target", "wasm32-unknown-unknown"]);
    cargo.arg("--target-dir").arg(&target);
    if variant == Variant::Reqwest {
        cargo.args(["--features", "reqwest"]);
    }
    command::run(&mut cargo)?;
    Ok(target.join("wasm32-unknown-unknown/release/sluice.wasm"))
}
