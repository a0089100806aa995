//! The compilation target of the edge.

use crate::command;
use anyhow::Result;
use std::process::Command;

/// The triple that Workers run.
const WASM: &str = "wasm32-unknown-unknown";

/// Adds the wasm target by rustup when rustc has no standard library for it.
///
/// # Errors
/// When neither rustc has it nor rustup can add it.
pub fn ensure_wasm_target() -> Result<()> {
    let mut probe = Command::new("rustc");
    probe.args(["--print", "target-libdir", "--target", WASM]);
    let folder = command::capture(probe.current_dir(crate::paths::root()))?;
    if std::path::Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["target", "add", WASM]).current_dir(crate::paths::root());
    command::step("rustup: adding the wasm target", &mut add)?;
    Ok(())
}
