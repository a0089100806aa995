//! How many requests of this isolate are on their way to the origin. A slot is a lease: a request that is cancelled never
//! gives it back, so it comes back by itself.

use crate::model::Millis;

/// A slot that was taken. It is given back by [`Slots::give`], or ends by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Slot(u64);

/// The slots of one isolate.
#[derive(Debug, Default)]
pub struct Slots {
    taken: Vec<(u64, Millis)>,
    last: u64,
}

impl Slots {
    /// Whether all of `most` slots are taken; 0 for any number.
    pub fn is_full(&mut self, most: usize, now: Millis) -> bool {
        if most == 0 || self.taken.len() < most {
            return false;
        }
        self.taken.retain(|(_, until)| now < *until);
        self.taken.len() >= most
    }

    /// Takes one of `most` slots until `until` at the latest; `None` when all are taken.
    pub fn take(&mut self, most: usize, until: Millis, now: Millis) -> Option<Slot> {
        if self.is_full(most, now) {
            return None;
        }
        self.last += 1;
        if most > 0 {
            self.taken.push((self.last, until));
        }
        Some(Slot(self.last))
    }

    /// Gives a slot back.
    pub fn give(&mut self, Slot(number): Slot) {
        self.taken.retain(|(taken, _)| *taken != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are() {
        let mut slots = Slots::default();
        let first = slots.take(2, Millis(100), Millis(0)).unwrap();
        assert!(!slots.is_full(2, Millis(0)));
        assert!(slots.take(2, Millis(100), Millis(0)).is_some());
        assert!(slots.is_full(2, Millis(99)) && slots.take(2, Millis(100), Millis(99)).is_none());
        slots.give(first);
        assert!(slots.take(2, Millis(100), Millis(99)).is_some());
    }

    #[test]
    fn a_slot_that_is_never_given_back_ends_by_itself() {
        let mut slots = Slots::default();
        let lost = slots.take(1, Millis(100), Millis(0)).unwrap();
        assert!(slots.take(1, Millis(200), Millis(100)).is_some());
        slots.give(lost);
        assert!(slots.is_full(1, Millis(100)), "giving back what has ended takes nobody's slot away");
    }

    #[test]
    fn without_a_bound_nothing_is_counted() {
        let mut slots = Slots::default();
        assert!((0..10_000).all(|_| slots.take(0, Millis(1), Millis(0)).is_some()));
        assert!(slots.taken.is_empty());
    }
}
