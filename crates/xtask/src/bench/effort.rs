//! How much is measured: enough to be believed, or enough to be had in ten minutes.

use super::contender::Contender::{self, Script, Sluice, Upstash};

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
    /// Who rushes.
    pub(super) rushing: &'static [Contender],
    /// How often a new isolate is started.
    pub(super) starts: u32,
}

impl Effort {
    pub(super) const QUICK: Self =
        Self { rounds: 3, warm: 2, seconds: 2, subjects: 100_000, rushes: 1, rushing: &[Sluice, Upstash], starts: 3 };
    pub(super) const FULL: Self = Self {
        rounds: 5,
        warm: 5,
        seconds: 3,
        subjects: 1_000_000,
        rushes: 2,
        rushing: &[Sluice, Upstash, Script],
        starts: 7,
    };

    /// The same with so many rounds.
    pub(super) fn of_rounds(self, rounds: u32) -> Self {
        Self { rounds, rushes: (rounds / 2).max(1), ..self }
    }
}
