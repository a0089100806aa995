//! How much is measured: enough to be believed, or enough to be had in ten minutes.

/// The lengths of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    /// How often each contender has its turn.
    pub(super) rounds: u32,
    /// How long each contender runs before its first turn, s: V8 compiles what is hot a second time.
    pub(super) warm: u64,
    /// How long a turn is, s.
    pub(super) seconds: u64,
    /// Live subjects in Redis of the growth scenario.
    pub(super) subjects: u64,
    /// How often the rush is run.
    pub(super) rushes: u32,
    /// How often a new isolate is started.
    pub(super) starts: u32,
}

impl Effort {
    pub(super) const QUICK: Self = Self { rounds: 3, warm: 2, seconds: 2, subjects: 100_000, rushes: 1, starts: 3 };
    pub(super) const FULL: Self = Self { rounds: 5, warm: 10, seconds: 5, subjects: 1_000_000, rushes: 3, starts: 7 };
}
