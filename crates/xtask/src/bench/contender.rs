//! Who takes part.

use std::fmt;

/// A gateway, in the order of the letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Contender {
    /// (a) Sluice as it is deployed.
    Sluice,
    /// (b) `@upstash/ratelimit` for user and address, and `SET NX`.
    Upstash,
    /// (c) One script, written by hand.
    Script,
    /// (d) No protection.
    Pass,
    /// (e) The JWT is verified, the answer constant.
    Verify,
    /// (f) Durable Objects as buckets; for information.
    Objects,
}

impl Contender {
    pub(super) const ALL: [Self; 6] =
        [Self::Sluice, Self::Upstash, Self::Script, Self::Pass, Self::Verify, Self::Objects];

    /// Its source in `bench/peers`, for those that are JavaScript.
    pub(super) fn source(self) -> Option<&'static str> {
        match self {
            Self::Sluice => None,
            Self::Upstash => Some("upstash.js"),
            Self::Script => Some("script.js"),
            Self::Pass => Some("pass.js"),
            Self::Verify => Some("verify.js"),
            Self::Objects => Some("objects.js"),
        }
    }

    /// Its name in tables and targets.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sluice => "sluice",
            Self::Upstash => "upstash",
            Self::Script => "script",
            Self::Pass => "pass",
            Self::Verify => "verify",
            Self::Objects => "objects",
        }
    }

    /// What it is, for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sluice => "(a) sluice",
            Self::Upstash => "(b) JS, @upstash/ratelimit + SET NX",
            Self::Script => "(c) JS, one EVALSHA by hand",
            Self::Pass => "(d) JS, forwards only",
            Self::Verify => "(e) JS, verifies the JWT only",
            Self::Objects => "(f) JS, Durable Objects as buckets",
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
