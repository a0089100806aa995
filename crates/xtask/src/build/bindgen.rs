//! The glue between WebAssembly and JavaScript, by the library half of wasm-bindgen's CLI.

use crate::console::Step;
use anyhow::{Context, Result};
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

/// Writes `sluice.js` and `sluice_bg.wasm` into `folder`.
pub(super) fn glue(wasm: &Path, folder: &Path) -> Result<()> {
    let step = Step::start("wasm-bindgen");
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(wasm)
        .out_name("sluice")
        .web(true)?
        .typescript(false)
        // After a panic the module is started anew instead of serving from broken statics.
        .reset_state_function(true)
        .remove_name_section(true)
        .remove_producers_section(true);
    bindgen.generate(folder).with_context(|| format!("wasm-bindgen cannot process {}", wasm.display()))?;
    step.done("done");
    Ok(())
}
