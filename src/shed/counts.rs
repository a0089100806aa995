//! What an isolate has decided about each sale since it last told Redis: told with the next call that brings a snapshot of
//! that sale, so that requests which were refused from memory are counted without traffic of their own.

use super::table::Table;
use crate::model::{Millis, Sku};

/// Counts of one sale, by name.
pub type Tally = Vec<(&'static str, u64)>;

/// The counts of all sales that the isolate knows.
#[derive(Debug)]
pub struct Counts(Table<Sku, Tally>);

/// Counts wait for a call as long as the isolate lives.
const FOREVER: Millis = Millis(u64::MAX);

impl Counts {
    /// At most `most` sales.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Table::new(most, usize::MAX))
    }

    /// One more.
    pub fn add(&mut self, sku: &Sku, name: &'static str) {
        let Some(tally) = self.0.get_mut(sku, Millis(0)) else {
            self.0.put(sku.clone(), vec![(name, 1)], 0, FOREVER);
            return;
        };
        match tally.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => tally.push((name, 1)),
        }
    }

    /// Takes what was counted, to be told once.
    pub fn take(&mut self, sku: &Sku) -> Tally {
        self.0.remove(sku).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sku(name: &str) -> Sku {
        Sku::parse(name).unwrap()
    }

    #[test]
    fn what_was_counted_is_told_once() {
        let mut counts = Counts::new(10);
        for name in ["admitted", "sold_out", "admitted"] {
            counts.add(&sku("a"), name);
        }
        counts.add(&sku("b"), "sold_out");
        assert_eq!(counts.take(&sku("a")), [("admitted", 2), ("sold_out", 1)]);
        assert_eq!(counts.take(&sku("a")), []);
        assert_eq!(counts.take(&sku("b")), [("sold_out", 1)]);
    }

    #[test]
    fn a_flood_of_sales_stays_bounded() {
        let mut counts = Counts::new(10);
        (0..1_000).for_each(|n| counts.add(&sku(&n.to_string()), "admitted"));
        assert_eq!(counts.0.len(), 10);
    }
}
