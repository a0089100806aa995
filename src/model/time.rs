//! Instants and durations with their unit in the type. Integers only; conversions to a coarser unit round up.

use std::fmt;

/// Milliseconds: since the Unix epoch for an instant, a length for a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

/// Microseconds: since the Unix epoch for an instant, a length for a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Millis {
    /// `n` whole seconds.
    #[must_use]
    pub const fn from_secs(n: u64) -> Self {
        Self(n.saturating_mul(1000))
    }

    /// Whole seconds, rounded up: what `Retry-After` may say without being early.
    #[must_use]
    pub const fn ceil_secs(self) -> u64 {
        self.0.div_ceil(1000)
    }

    /// Whole seconds, rounded down: what an instant of a JWT (`iat`) is written in.
    #[must_use]
    pub const fn floor_secs(self) -> u64 {
        self.0 / 1000
    }

    /// The same in microseconds.
    #[must_use]
    pub const fn micros(self) -> Micros {
        Micros(self.0.saturating_mul(1000))
    }

    /// This and `other` together, stopping at the largest value.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left of this after `other`, zero at the least.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Micros {
    /// Whole milliseconds, rounded up.
    #[must_use]
    pub const fn ceil_millis(self) -> Millis {
        Millis(self.0.div_ceil(1000))
    }

    /// Whole seconds, rounded up.
    #[must_use]
    pub const fn ceil_secs(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_rounded_down() {
        assert_eq!(Millis(1).ceil_secs(), 1);
        assert_eq!(Millis(200).ceil_secs(), 1);
        assert_eq!(Millis(1000).ceil_secs(), 1);
        assert_eq!(Millis(1001).ceil_secs(), 2);
        assert_eq!(Micros(1).ceil_millis(), Millis(1));
        assert_eq!(Micros(0).ceil_secs(), 0);
    }

    #[test]
    fn an_instant_is_written_as_the_number_that_it_is() {
        assert_eq!((Millis(1_500).to_string(), Micros(7).to_string()), ("1500".into(), "7".into()));
        assert_eq!((Millis(1_999).floor_secs(), Millis(3_000).floor_secs()), (1, 3));
        assert_eq!(Millis::from_secs(3), Millis(3_000));
    }
}
