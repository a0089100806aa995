//! `.dev`: what stays between two runs, and how others find the one that runs now.

use crate::paths;
use crate::stack::{Secrets, Stack};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What a running `dev` tells others: `.dev/stack.json`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Running {
    /// The process of `cargo xtask dev`.
    pub pid: u32,
    /// The Worker.
    pub edge: String,
    /// The origin.
    pub origin: String,
    /// The bridge.
    pub bridge: String,
    /// Redis.
    pub redis: String,
    /// SQL.
    pub database: String,
    /// The demonstration sale.
    pub sku: String,
}

/// The folder, locked for as long as this value lives.
#[derive(Debug)]
pub(super) struct State {
    folder: PathBuf,
    _lock: File,
}

impl State {
    /// Takes the folder; fails when another `dev` has it.
    pub(super) fn open() -> Result<Self> {
        Self::open_in(&paths::dev_state())
    }

    fn open_in(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let lock = File::create(folder.join("lock")).context("cannot make the lock of .dev")?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(already(folder)),
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock .dev"),
        }
        // What an earlier `dev` left: its logs, and its stack.json if it was killed.
        remove(&folder.join("stack.json"))?;
        remove(&folder.join("logs"))?;
        Ok(Self { folder: folder.to_path_buf(), _lock: lock })
    }

    /// Drops Redis' file and the SQL database. The secrets stay.
    pub(super) fn forget_data(&self) -> Result<()> {
        for name in ["redis", "worker"] {
            remove(&self.folder.join(name))?;
        }
        for suffix in ["", "-wal", "-shm", "-journal"] {
            remove(&self.folder.join(format!("origin.sqlite{suffix}")))?;
        }
        Ok(())
    }

    pub(super) fn secrets(&self) -> Result<Secrets> {
        Secrets::load_or_make(&self.folder.join("secrets.json"))
    }

    /// Tells others where everything is.
    pub(super) fn announce(&self, stack: &Stack, sku: &str) -> Result<()> {
        let running = Running {
            pid: std::process::id(),
            edge: stack.edge_url(),
            origin: stack.origin_url(),
            bridge: stack.bridge_url(),
            redis: stack.redis_url(),
            database: stack.database_url(),
            sku: sku.to_owned(),
        };
        let text = serde_json::to_string_pretty(&running)?;
        fs::write(self.folder.join("stack.json"), text + "\n").context("cannot write stack.json")
    }

    pub(super) fn withdraw(&self) {
        // What is left is removed by the next start.
        let _ = remove(&self.folder.join("stack.json"));
    }
}

/// The `dev` that runs now, if one does and is ready.
///
/// # Errors
/// When its state cannot be read.
pub fn running() -> Result<Option<Running>> {
    running_in(&paths::dev_state())
}

fn running_in(folder: &Path) -> Result<Option<Running>> {
    let Ok(lock) = File::open(folder.join("lock")) else {
        return Ok(None);
    };
    // Nobody holds the lock: whatever stack.json says is old.
    if lock.try_lock_shared().is_ok() {
        return Ok(None);
    }
    match fs::read_to_string(folder.join("stack.json")) {
        Ok(text) => Ok(Some(serde_json::from_str(&text).context(".dev/stack.json")?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("cannot read .dev/stack.json"),
    }
}

/// The secrets of the development stack; made when there are none yet.
///
/// # Errors
/// When they cannot be read or made.
pub fn secrets() -> Result<Secrets> {
    let folder = paths::dev_state();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Secrets::load_or_make(&folder.join("secrets.json"))
}

fn already(folder: &Path) -> String {
    match running_in(folder) {
        Ok(Some(running)) => format!("`cargo xtask dev` runs already (process {}): {}", running.pid, running.edge),
        _ => "`cargo xtask dev` runs already; it is still starting, or stopping".to_owned(),
    }
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Running {
        Running {
            pid: 7,
            edge: "http://localhost:8787".into(),
            origin: String::new(),
            bridge: String::new(),
            redis: String::new(),
            database: String::new(),
            sku: "demo".into(),
        }
    }

    #[test]
    fn a_second_dev_is_told_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open_in(folder.path()).unwrap();
        let text = serde_json::to_string(&example()).unwrap();
        fs::write(folder.path().join("stack.json"), text).unwrap();
        let error = State::open_in(folder.path()).unwrap_err().to_string();
        assert!(error.contains("runs already (process 7): http://localhost:8787"), "{error}");
        assert_eq!(running_in(folder.path()).unwrap(), Some(example()));
        drop(state);
        assert_eq!(running_in(folder.path()).unwrap(), None, "nobody holds the lock");
        State::open_in(folder.path()).unwrap();
        assert!(!folder.path().join("stack.json").exists());
    }

    #[test]
    fn fresh_drops_data_and_keeps_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open_in(folder.path()).unwrap();
        let before = state.secrets().unwrap().user_jwt;
        fs::create_dir(folder.path().join("redis")).unwrap();
        fs::write(folder.path().join("origin.sqlite-wal"), "").unwrap();
        state.forget_data().unwrap();
        assert!(!folder.path().join("redis").exists());
        assert!(!folder.path().join("origin.sqlite-wal").exists());
        assert_eq!(state.secrets().unwrap().user_jwt, before);
    }
}
