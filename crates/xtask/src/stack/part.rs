//! The four kinds of process.

use std::fmt;

/// A part of a stack. The order is that of starting; stopping goes the other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// redis-server
    Redis,
    /// The Upstash-compatible bridge.
    Bridge,
    /// The origin.
    Origin,
    /// The edge, in workerd.
    Worker,
}

impl Part {
    /// All of them, in the order of starting.
    pub const ALL: [Self; 4] = [Self::Redis, Self::Bridge, Self::Origin, Self::Worker];

    /// Its name in logs and file names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Bridge => "bridge",
            Self::Origin => "origin",
            Self::Worker => "worker",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
