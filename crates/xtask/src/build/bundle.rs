//! One ES module out of the hand-written scripts, the glue and its snippets, by esbuild.

use crate::command;
use anyhow::Result;
use std::path::Path;

/// Bundles `worker.js` in `folder` to `to`. The WebAssembly stays an import: the runtime compiles it.
pub(super) fn worker(folder: &Path, to: &Path) -> Result<()> {
    let mut esbuild = command::node("esbuild");
    esbuild
        .current_dir(folder)
        .args(["worker.js", "--bundle", "--format=esm", "--target=es2022"])
        .args(["--external:*.wasm", "--external:cloudflare:*"])
        .args(["--legal-comments=none", "--log-level=warning"])
        .arg(format!("--outfile={}", to.display()));
    command::capture(&mut esbuild)?;
    Ok(())
}
