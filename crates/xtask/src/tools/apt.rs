//! System programs, by apt-get where that is allowed.

use crate::command;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Installs `$1` without starting its service: our servers have ports of their own, but two would confuse.
/// The lists are fetched only when the package cannot be installed from those at hand.
const INSTALL: &str = r#"
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get -q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$1"; }
install "$1" || { apt-get -q -o DPkg::Lock::Timeout=120 update; install "$1"; }
"#;

/// The path of `program`, which Debian's package of the same name brings; installs it when it is missing.
///
/// # Errors
/// When it is missing and cannot be installed; the message says what to install.
pub fn ensure_apt(program: &str) -> Result<PathBuf> {
    ensure_apt_of(program, program)
}

/// The path of `program`, which Debian's `package` brings; installs it when it is missing.
///
/// # Errors
/// When it is missing and cannot be installed; the message says what to install.
pub fn ensure_apt_of(program: &str, package: &str) -> Result<PathBuf> {
    ensure(package, || find(program))
}

/// The path of a program of the newest PostgreSQL. Debian keeps its servers out of `PATH`, one folder a version.
///
/// # Errors
/// When it is missing and cannot be installed; the message says what to install.
pub fn ensure_postgres(program: &str) -> Result<PathBuf> {
    ensure("postgresql", || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let newest = versions.flatten().map(|entry| entry.path()).max_by_key(number)?;
        Some(newest.join("bin").join(program)).filter(|path| path.is_file())
    })
    .or_else(|error| find(program).ok_or(error))
}

/// The path of a file that Debian's `package` puts into the folder of shared libraries; installs it when it is missing.
///
/// # Errors
/// When it is missing and cannot be installed; the message says what to install.
pub fn ensure_library(file: &str, package: &str) -> Result<PathBuf> {
    ensure(package, || {
        // One folder a machine's architecture.
        let folders = std::fs::read_dir("/usr/lib").ok()?;
        folders.flatten().map(|entry| entry.path().join(file)).find(|path| path.is_file())
    })
}

fn ensure(package: &str, find: impl Fn() -> Option<PathBuf>) -> Result<PathBuf> {
    if let Some(path) = find() {
        return Ok(path);
    }
    let (true, Some(mut install)) = (self::find("apt-get").is_some(), privileged_shell()) else {
        bail!(missing(package));
    };
    install.args(["-c", INSTALL, "sh", package]);
    command::step(&format!("apt-get: installing {package}"), &mut install).with_context(|| missing(package))?;
    find().with_context(|| missing(package))
}

/// A shell that may install: our own when we are root, one by `sudo -n` where that asks nothing, or none.
fn privileged_shell() -> Option<Command> {
    if nix::unistd::Uid::effective().is_root() {
        return Some(Command::new("sh"));
    }
    let sudo = Command::new("sudo")
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    sudo.is_ok_and(|status| status.success()).then(|| {
        let mut command = Command::new("sudo");
        command.args(["-n", "sh"]);
        command
    })
}

fn missing(package: &str) -> String {
    format!(
        "`{package}` is not installed and cannot be installed from here. \
         Install it, for example by `sudo apt-get install {package}`, and try again"
    )
}

/// Looks `program` up in PATH, and where Debian keeps servers.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_in(&path, program).or_else(|| find_in(OsStr::new("/usr/sbin:/sbin"), program))
}

fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_path_is_found() {
        assert!(find("sh").is_some());
        assert!(find_in(OsStr::new("/nowhere"), "sh").is_none());
    }

    #[test]
    fn the_message_says_what_to_install() {
        assert!(missing("redis-server").contains("apt-get install redis-server"));
    }
}
