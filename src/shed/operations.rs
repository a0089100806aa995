//! Operations that this isolate has seen lately, so that a storm of duplicates costs few calls to Redis.

use super::table::Table;
use crate::digest::Tag;
use crate::model::Millis;

/// What is remembered of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// An attempt is under way, or was cancelled: a lease that ends by itself.
    InFlight,
    /// It was answered; packed.
    Answered(String),
}

/// What a duplicate meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met<'a> {
    /// Another attempt is under way in this isolate.
    InFlight,
    /// The answer, packed.
    Answered(&'a str),
}

#[derive(Clone, Debug)]
struct Remembered {
    /// The fingerprint of the request: another one is a mismatch, which Redis judges and charges.
    fingerprint: Tag,
    state: State,
}

/// The operations, bounded in entries and bytes.
#[derive(Debug)]
pub struct Operations {
    table: Table<Tag, Remembered>,
    kept: Millis,
}

/// What an entry costs besides its answer.
const ENTRY: usize = 96;

impl Operations {
    /// At most `most` operations of `most_bytes` together; answers are kept for `kept`.
    #[must_use]
    pub fn new(most: usize, most_bytes: usize, kept: Millis) -> Self {
        Self { table: Table::new(most, most_bytes), kept }
    }

    /// Keeps answers that come from now on for `kept`.
    pub fn adjust(&mut self, kept: Millis) {
        self.kept = kept;
    }

    /// What a request with this fingerprint meets.
    #[must_use]
    pub fn get(&self, op: &Tag, fingerprint: &Tag, now: Millis) -> Option<Met<'_>> {
        let kept = self.table.get(op, now).filter(|kept| kept.fingerprint == *fingerprint)?;
        Some(match &kept.state {
            State::InFlight => Met::InFlight,
            State::Answered(answer) => Met::Answered(answer),
        })
    }

    /// An attempt begins; it counts as under way until `until` at the latest.
    pub fn begin(&mut self, op: Tag, fingerprint: Tag, until: Millis) {
        self.table.put(op, Remembered { fingerprint, state: State::InFlight }, ENTRY, until);
    }

    /// The attempt ended without an answer that would be repeated.
    pub fn forget(&mut self, op: &Tag) {
        self.table.remove(op);
    }

    /// The operation has its final answer.
    pub fn answered(&mut self, op: Tag, fingerprint: Tag, answer: String, now: Millis) {
        let bytes = ENTRY + answer.len();
        self.table.put(op, Remembered { fingerprint, state: State::Answered(answer) }, bytes, now.plus(self.kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations() -> (Operations, Tag, Tag) {
        (Operations::new(10, 10_000, Millis(1_000)), Tag::of(&[b"op"]), Tag::of(&[b"x"]))
    }

    #[test]
    fn only_the_same_request_gets_the_answer_and_only_for_a_moment() {
        let (mut operations, op, print) = operations();
        operations.answered(op, print, "202".into(), Millis(0));
        assert_eq!(operations.get(&op, &print, Millis(999)), Some(Met::Answered("202")));
        assert_eq!(operations.get(&op, &Tag::of(&[b"y"]), Millis(0)), None);
        assert_eq!(operations.get(&op, &print, Millis(1_000)), None);
    }

    #[test]
    fn an_attempt_that_never_reports_back_blocks_for_its_lease_only() {
        let (mut operations, op, print) = operations();
        operations.begin(op, print, Millis(400));
        assert_eq!(operations.get(&op, &print, Millis(399)), Some(Met::InFlight));
        assert_eq!(operations.get(&op, &print, Millis(400)), None);
        operations.begin(op, print, Millis(900));
        operations.forget(&op);
        assert_eq!(operations.get(&op, &print, Millis(500)), None);
    }

    #[test]
    fn an_answer_counts_with_what_its_entry_costs() {
        let mut operations = Operations::new(10, 2 * (ENTRY + 100), Millis(1_000));
        let (print, answer) = (Tag::of(&[b"x"]), "x".repeat(100));
        let op = |n: u8| Tag::of(&[&[n]]);
        (1..=3).for_each(|n| operations.answered(op(n), print, answer.clone(), Millis(0)));
        let known: Vec<u8> = (1..=3).filter(|n| operations.get(&op(*n), &print, Millis(1)).is_some()).collect();
        assert_eq!(known, [2, 3], "two fit, and the oldest went");
    }

    #[test]
    fn another_time_to_keep_holds_for_what_comes_from_then_on() {
        let (mut operations, op, print) = operations();
        operations.answered(op, print, "202".into(), Millis(0));
        operations.adjust(Millis(10));
        let later = Tag::of(&[b"later"]);
        operations.answered(later, print, "202".into(), Millis(0));
        assert!(operations.get(&op, &print, Millis(999)).is_some());
        assert!(
            operations.get(&later, &print, Millis(9)).is_some() && operations.get(&later, &print, Millis(10)).is_none()
        );
    }
}
