//! What a bundle was made from, so that an unchanged one is not made again.

use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// Raised when the steps themselves change.
const STEPS: u32 = 1;

/// A fingerprint of the inputs. It guards against staleness, not against malice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp(String);

impl Stamp {
    pub(super) fn of(inputs: &[PathBuf]) -> Result<Self> {
        let mut text = format!("steps {STEPS}\n");
        for path in inputs {
            let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut hasher = DefaultHasher::new();
            hasher.write(&bytes);
            let line = format!("{:016x} {}\n", hasher.finish(), bytes.len());
            text.push_str(&line);
        }
        Ok(Self(text))
    }

    pub(super) fn matches(&self, file: &Path) -> bool {
        fs::read_to_string(file).is_ok_and(|text| text == self.0)
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        fs::write(file, &self.0).with_context(|| format!("cannot write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_follows_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let (input, file) = (folder.path().join("input"), folder.path().join("stamp"));
        let inputs = [input.clone()];
        fs::write(&input, "one").unwrap();
        let first = Stamp::of(&inputs).unwrap();
        assert!(!first.matches(&file), "nothing was made yet");
        first.write(&file).unwrap();
        assert!(Stamp::of(&inputs).unwrap().matches(&file));
        fs::write(&input, "two").unwrap();
        assert!(!Stamp::of(&inputs).unwrap().matches(&file));
    }
}
