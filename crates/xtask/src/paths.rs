//! Where things are: the repository, the target folder, the built binaries.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The root of the repository, known since xtask was compiled in it.
#[must_use]
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// The folder `debug` or `release` that the running executable was built into.
///
/// # Errors
/// When the executable is not below a cargo target folder.
pub fn profile_folder() -> Result<PathBuf> {
    let exe = std::env::current_exe().context("the running executable has no path")?;
    let folder = exe.parent().context("the executable has no folder")?;
    let folder =
        if folder.ends_with("deps") { folder.parent().context("`deps` has no parent folder")? } else { folder };
    Ok(folder.to_path_buf())
}

/// The cargo target folder of the running executable.
///
/// # Errors
/// When the executable is not below a cargo target folder.
pub fn target() -> Result<PathBuf> {
    let folder = profile_folder()?;
    let target = folder.parent().context("not in a cargo target folder")?;
    Ok(target.to_path_buf())
}

/// A binary of this workspace, beside the running executable.
///
/// # Errors
/// When the executable is not below a cargo target folder.
pub fn binary(name: &str) -> Result<PathBuf> {
    Ok(profile_folder()?.join(name))
}

/// `dev/…` state of the development stack: `.dev` in the repository.
#[must_use]
pub fn dev_state() -> PathBuf {
    root().join(".dev")
}

/// Where npm puts the tools' executables.
#[must_use]
pub fn node_bin() -> PathBuf {
    root().join("node_modules/.bin")
}
