//! One build at a time: several test binaries, `dev` and `wrangler` may ask for it at once.

use crate::paths;
use anyhow::{Context, Result};
use std::fs::{self, File};

/// Runs `build` while no other process of this workspace builds.
///
/// # Errors
/// Those of `build`, or when the lock file cannot be made.
pub fn exclusive<T>(build: impl FnOnce() -> Result<T>) -> Result<T> {
    let folder = paths::target()?.join("edge");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    build()
}
