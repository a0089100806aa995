//! The secrets that the parts of one stack share.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// One secret per purpose, each made at random.
#[derive(Clone, Serialize, Deserialize)]
pub struct Secrets {
    /// Signs the users' JWTs.
    pub user_jwt: String,
    /// Signs order tokens.
    pub order_token: String,
    /// Signs what the edge tells the origin.
    pub assertion: String,
    /// Lets the edge into the bridge.
    pub bridge: String,
    /// By which the payment gateway signs what it tells.
    #[serde(default = "made")]
    pub payment: String,
}

impl Secrets {
    /// New ones.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn random() -> Result<Self> {
        Ok(Self {
            user_jwt: random()?,
            order_token: random()?,
            assertion: random()?,
            bridge: random()?,
            payment: random()?,
        })
    }

    /// Those of `file`; made at random, readable by the owner only, when there is no such file.
    ///
    /// # Errors
    /// When the file cannot be read, understood or made.
    pub fn load_or_make(file: &Path) -> Result<Self> {
        let shown = file.display();
        if file.exists() {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
            return serde_json::from_str(&text).with_context(|| format!("{shown} is no file of secrets"));
        }
        let secrets = Self::random()?;
        let mut text = serde_json::to_string_pretty(&secrets)?;
        text.push('\n');
        private_file(file, &text)?;
        Ok(secrets)
    }
}

/// For files from before there was one. An origin refuses an empty one and says why.
fn made() -> String {
    random().unwrap_or_default()
}

/// Writes a file that only its owner can read.
pub(super) fn private_file(file: &Path, text: &str) -> Result<()> {
    let written = fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut open| open.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", file.display()))
}

/// 256 random bits in hexadecimal: safe in any shell, header and configuration.
fn random() -> Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_are_kept_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets.json");
        let made = Secrets::load_or_make(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Secrets::load_or_make(&file).unwrap();
        assert_eq!(again.user_jwt, made.user_jwt);
        assert_ne!(made.user_jwt, made.order_token);
        assert_eq!(format!("{made:?}"), "Secrets(hidden)");
    }
}
