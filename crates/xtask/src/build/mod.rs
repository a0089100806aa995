//! From source to what is deployed: `build/worker.js`, `build/sluice_bg.wasm`, and the pages in `build/assets`.
//!
//! The release profile is the only one: what is tested is what ships.

mod bindgen;
mod bundle;
mod compile;
mod lock;
mod native;
mod optimise;
mod pages;
mod size;
mod stamp;

pub use lock::exclusive;
pub use native::{SERVICES, loaded, services};
pub use size::{BUDGET_GZIPPED, Size};

use crate::{paths, tools};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Which transport the edge speaks to Redis through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Variant {
    /// One imported `fetch` call: what ships.
    #[default]
    Fetch,
    /// `reqwest`, the default transport of the REST client; tested, and slower.
    Reqwest,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Fetch, Self::Reqwest];

    /// Its name on the command line and in folder names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Reqwest => "reqwest",
        }
    }

    /// Where its bundle is put.
    #[must_use]
    pub fn output(self) -> PathBuf {
        let build = paths::root().join("build");
        match self {
            Self::Fetch => build,
            Self::Reqwest => build.join("reqwest"),
        }
    }
}

/// A finished bundle.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The ES module that workerd starts with.
    pub worker: PathBuf,
    /// The WebAssembly that it imports.
    pub wasm: PathBuf,
    /// The size of the WebAssembly.
    pub size: Size,
    /// Whether anything had to be made.
    pub fresh: bool,
}

/// Builds one variant of the edge, and the pages beside the one that ships; only compares when nothing has changed.
///
/// # Errors
/// When a tool is missing or a step fails.
pub fn edge(variant: Variant) -> Result<Edge> {
    tools::ensure_wasm_target()?;
    tools::ensure_node_modules()?;
    let compiled = compile::edge(variant)?;
    let scripts = scripts()?;
    let work = paths::target()?.join("edge").join(variant.name());
    let output = variant.output();
    let (worker, wasm) = (output.join("worker.js"), output.join("sluice_bg.wasm"));

    let mut inputs = vec![compiled.clone(), paths::root().join("package-lock.json")];
    inputs.extend_from_slice(&scripts);
    let stamp = stamp::Stamp::of(&inputs)?;
    let stamp_file = work.join("stamp");
    let fresh = !(stamp.matches(&stamp_file) && worker.is_file() && wasm.is_file());
    if fresh {
        make(&compiled, &scripts, &work, &output)?;
        stamp.write(&stamp_file)?;
    }
    if variant == Variant::Fetch {
        pages::build()?;
    }
    let size = size::of(&wasm, &work.join("size"), fresh)?;
    Ok(Edge { worker, wasm, size, fresh })
}

/// The hand-written JavaScript: `worker.js`, where the Worker begins, and what it and the glue import.
fn scripts() -> Result<Vec<PathBuf>> {
    let folder = paths::root().join("src/edge");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut scripts = paths?;
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "js"));
    scripts.sort();
    Ok(scripts)
}

fn make(compiled: &Path, scripts: &[PathBuf], work: &Path, output: &Path) -> Result<()> {
    fs::create_dir_all(work).with_context(|| format!("cannot make {}", work.display()))?;
    fs::create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
    bindgen::glue(compiled, work)?;
    optimise::wasm(&work.join("sluice_bg.wasm"), &work.join("optimised.wasm"))?;
    for script in scripts {
        let name = script.file_name().unwrap_or_default();
        fs::copy(script, work.join(name)).with_context(|| format!("cannot copy {}", script.display()))?;
    }
    bundle::worker(work, &work.join("bundle.js"))?;
    // Moved in at the very end, so that a watcher never sees half of a bundle.
    replace(&work.join("optimised.wasm"), &output.join("sluice_bg.wasm"))?;
    replace(&work.join("bundle.js"), &output.join("worker.js"))
}

fn replace(from: &Path, to: &Path) -> Result<()> {
    let partial = to.with_extension("partial");
    fs::copy(from, &partial)
        .and_then(|_| fs::rename(&partial, to))
        .with_context(|| format!("cannot write {}", to.display()))
}
