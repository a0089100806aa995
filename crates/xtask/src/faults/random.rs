//! Numbers that look random and are the same for the same seed, on every machine and in every release.

/// SplitMix64 (Steele, Lea and Flood, 2014): a counter, and a mix of it.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of one seed, for one purpose: what is drawn for another does not shift them.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut first = Self(seed);
        Self(first.next() ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends, so it is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `least..=most`; `least` when the range is empty.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        let span = most.saturating_sub(least).saturating_add(1);
        least + self.next() % span
    }

    /// True in `of_100` of 100 cases.
    pub fn chance(&mut self, of_100: u64) -> bool {
        self.next() % 100 < of_100
    }

    /// One of several; `None` of none.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let n = u64::try_from(all.len()).ok().filter(|n| *n > 0)?;
        all.get(usize::try_from(self.next() % n).unwrap_or(0)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_purpose_give_the_same_numbers_for_ever() {
        let mut random = Random::new(7, 1);
        let first: Vec<u64> = (0..4).map(|_| random.within(0, 999)).collect();
        let mut again = Random::new(7, 1);
        assert_eq!(first, (0..4).map(|_| again.within(0, 999)).collect::<Vec<_>>());
        let mut other = Random::new(7, 2);
        assert_ne!(first, (0..4).map(|_| other.within(0, 999)).collect::<Vec<_>>());
    }

    #[test]
    fn a_range_is_met_whole_and_never_left() {
        let mut random = Random::new(1, 1);
        let seen: std::collections::BTreeSet<u64> = (0..200).map(|_| random.within(3, 5)).collect();
        assert_eq!(seen, [3, 4, 5].into());
        assert_eq!(random.within(5, 5), 5);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
