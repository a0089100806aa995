//! `wasm-opt` of npm's binaryen.

use crate::command;
use anyhow::Result;
use std::path::Path;

/// What rustc enables for wasm32-unknown-unknown. The module also lists them in a section of its own,
/// but wasm-opt must know them even where a tool has dropped that section.
const FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Writes an optimised copy of `from` to `to`.
pub(super) fn wasm(from: &Path, to: &Path) -> Result<()> {
    let mut opt = command::node("wasm-opt");
    opt.arg("-O3").args(FEATURES).arg("--strip-debug");
    opt.arg(from).arg("-o").arg(to);
    command::step("wasm-opt", &mut opt)?;
    Ok(())
}
