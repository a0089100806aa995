//! A Lua script in both forms: as it is, and with the line that lets Upstash lock its keys instead of everything.

use sha1::{Digest as _, Sha1};

/// Upstash runs a script under a global lock unless it starts so; a plain Redis refuses the line.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// A script with its SHA1s, computed once.
#[derive(Clone, Debug)]
pub struct Script {
    pub(crate) plain: Form,
    pub(crate) key_locking: Form,
}

/// One form of a script.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) source: String,
    pub(crate) sha1: String,
}

impl Script {
    /// A script from its parts, put one after the other.
    #[must_use]
    pub fn new(parts: &[&str]) -> Self {
        let source = parts.join("\n");
        Self { key_locking: Form::new(format!("{KEY_LOCKING}{source}")), plain: Form::new(source) }
    }

    /// The source without the key-locking line.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.plain.source
    }

    /// SHA1 of [`Self::source`], by which a plain Redis knows it.
    #[must_use]
    pub fn sha1(&self) -> &str {
        &self.plain.sha1
    }
}

impl Form {
    fn new(source: String) -> Self {
        let sha1 = Sha1::digest(source.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { source, sha1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sha1_is_the_one_that_redis_computes() {
        // `SCRIPT LOAD "return 1"`
        assert_eq!(Script::new(&["return 1"]).plain.sha1, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    }
}
