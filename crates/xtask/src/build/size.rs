//! How large the WebAssembly is, and how large it may be.

use crate::command;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The most that the gzipped WebAssembly may have: start-up time at the edge grows with it.
pub const BUDGET_GZIPPED: u64 = 250 * 1024;

/// Bytes as they are, and as they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Uncompressed.
    pub raw: u64,
    /// After `gzip -9`.
    pub gzipped: u64,
}

impl Size {
    /// Both figures, for people.
    #[must_use]
    pub fn human(self) -> String {
        format!("{} KB, gzipped {} KB", kilobytes(self.raw), kilobytes(self.gzipped))
    }

    /// Fails when the gzipped size is above the budget.
    ///
    /// # Errors
    /// Exactly then.
    pub fn within_budget(self) -> Result<()> {
        if self.gzipped > BUDGET_GZIPPED {
            bail!("the wasm has {} bytes gzipped; the budget is {BUDGET_GZIPPED}", self.gzipped);
        }
        Ok(())
    }
}

fn kilobytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

/// Measures `wasm`; the result is kept in `cache` until something was made `fresh`.
pub(super) fn of(wasm: &Path, cache: &Path, fresh: bool) -> Result<Size> {
    let raw = fs::metadata(wasm).with_context(|| format!("{} is missing", wasm.display()))?.len();
    let cached = fs::read_to_string(cache).ok();
    if let (false, Some(gzipped)) = (fresh, cached.and_then(|text| text.trim().parse().ok())) {
        return Ok(Size { raw, gzipped });
    }
    let mut gzip = Command::new("sh");
    gzip.args(["-c", "gzip -9 -c \"$1\" | wc -c", "sh"]).arg(wasm);
    let count = command::capture(&mut gzip)?;
    let gzipped = count.trim().parse().with_context(|| format!("`wc` answered {count:?}"))?;
    fs::write(cache, format!("{gzipped}\n")).with_context(|| format!("cannot write {}", cache.display()))?;
    Ok(Size { raw, gzipped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_a_hard_limit() {
        let size = |gzipped| Size { raw: 1, gzipped };
        assert!(size(BUDGET_GZIPPED).within_budget().is_ok());
        assert!(size(BUDGET_GZIPPED + 1).within_budget().is_err());
    }

    #[test]
    fn sizes_are_measured_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (file, cache) = (folder.path().join("a.wasm"), folder.path().join("size"));
        fs::write(&file, vec![0u8; 10_000]).unwrap();
        let size = of(&file, &cache, true).unwrap();
        assert_eq!(size.raw, 10_000);
        assert!(size.gzipped < 200);
        assert_eq!(of(&file, &cache, false).unwrap(), size);
    }
}
