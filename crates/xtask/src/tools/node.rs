//! wrangler, workerd, esbuild, binaryen and Node itself, pinned by `package-lock.json`.

use crate::{command, paths};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Runs `npm ci` when `node_modules` is missing or older than the lock.
///
/// # Errors
/// When npm is missing or fails.
pub fn ensure_node_modules() -> Result<()> {
    let root = paths::root();
    if is_current(root) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
        .env("npm_config_update_notifier", "false")
        .current_dir(root);
    command::step("npm ci: wrangler, Node 22, esbuild, binaryen", &mut npm)
        .context("Node 20 or newer and npm are needed: https://nodejs.org, or `apt-get install nodejs npm`")?;
    Ok(())
}

/// npm writes `.package-lock.json` last, so it dates the installation.
fn is_current(root: &Path) -> bool {
    let modified = |path: &str| root.join(path).metadata().and_then(|m| m.modified());
    let Ok(installed) = modified("node_modules/.package-lock.json") else {
        return false;
    };
    modified("package-lock.json").is_ok_and(|lock| lock <= installed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_installation_is_current_only_when_newer_than_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("package-lock.json"), "{}").unwrap();
        assert!(!is_current(root), "nothing is installed");
        fs::create_dir(root.join("node_modules")).unwrap();
        fs::write(root.join("node_modules/.package-lock.json"), "{}").unwrap();
        assert!(is_current(root));
        let installed = fs::metadata(root.join("node_modules/.package-lock.json")).unwrap();
        let later = installed.modified().unwrap() + std::time::Duration::from_secs(5);
        let lock = fs::File::options().write(true).open(root.join("package-lock.json"));
        lock.unwrap().set_modified(later).unwrap();
        assert!(!is_current(root), "the lock has changed");
    }
}
