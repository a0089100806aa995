//! The number of an acquisition.

/// Grows with every acquisition of the same lock. Whoever guards a resource remembers the largest number that it has
/// seen and refuses smaller ones: so a holder that lost its lease without noticing cannot do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number; below 2^53.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The number as SQL's integers have it.
    #[must_use]
    pub fn signed(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl std::fmt::Display for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
