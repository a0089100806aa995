//! The pages' TypeScript: formatting and lints, types, and its tests, which run on Node as they are written.

use crate::{command, paths, tools};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

pub(super) fn check() -> Result<()> {
    tools::ensure_node_modules()?;
    let web = paths::root().join("web");
    command::run(command::node("biome").args(["ci", "--error-on-warnings", "."]).current_dir(&web))?;
    command::run(command::node("tsc").args(["--project", "web"]))?;
    let mut all = tests(&web.join("client"))?;
    all.extend(tests(&web.join("shop"))?);
    ensure!(!all.is_empty(), "no test below {}", web.display());
    command::run(command::node("node").args(["--test", "--test-reporter=dot"]).args(all))
}

/// The files whose names end in `.test.ts`.
pub(super) fn tests(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(tests(&path)?);
        } else if path.to_string_lossy().ends_with(".test.ts") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
