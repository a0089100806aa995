//! The ids that there are, as a Bloom filter: what it does not know is refused before any store is asked.

use std::sync::{Arc, PoisonError, RwLock};

use fastbloom::AtomicBloomFilter;
use sluice::model::Sku;

/// Ids that it is made for at least.
const IDS: usize = 1_000_000;
/// How often it takes an unknown id for a known one, with so many.
const ERROR: f64 = 0.0001;

type Bits = Arc<AtomicBloomFilter>;

/// None at first; made anew again and again, while ids are added.
#[derive(Default)]
pub(crate) struct Filter(RwLock<State>);

#[derive(Default)]
struct State {
    current: Option<Bits>,
    next: Option<Bits>,
}

impl Filter {
    /// Whether there is surely no such id, as far as has been heard.
    pub(crate) fn excludes(&self, id: &Sku) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        state.current.as_ref().is_some_and(|bits| !bits.contains(id.as_str()))
    }

    /// There is a new id. It goes into the filter that is being made as well.
    pub(crate) fn add(&self, id: &str) {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for bits in state.current.iter().chain(&state.next) {
            bits.insert(id);
        }
    }

    /// Begins one for about `count` ids, to be given all that there are.
    pub(crate) fn begin(&self, count: usize) -> Next<'_> {
        // Unpredictable, so that nobody can look for ids that pass by mistake.
        let seed = u128::from(ulid::Ulid::generate());
        let filter = AtomicBloomFilter::with_false_pos(ERROR).seed(&seed).expected_items(count.max(IDS));
        let bits = Arc::new(filter);
        self.0.write().unwrap_or_else(PoisonError::into_inner).next = Some(Arc::clone(&bits));
        Next { filter: self, bits }
    }
}

/// A filter that is being made. Dropped, the one before it stays.
pub(crate) struct Next<'a> {
    filter: &'a Filter,
    bits: Bits,
}

impl Next<'_> {
    /// One of the ids.
    pub(crate) fn add(&self, id: &str) {
        self.bits.insert(id);
    }

    /// All ids were added: it takes the place of the one before.
    pub(crate) fn finish(self) {
        let mut state = self.filter.0.write().unwrap_or_else(PoisonError::into_inner);
        state.current = Some(Arc::clone(&self.bits));
        state.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> Sku {
        Sku::parse(&format!("p{n}")).unwrap()
    }

    #[test]
    fn before_it_was_made_it_excludes_nothing_and_what_comes_while_it_is_made_is_in_it() {
        let filter = Filter::default();
        assert!(!filter.excludes(&id(1)));
        let next = filter.begin(1);
        next.add("p1");
        filter.add("p2");
        next.finish();
        assert!(!filter.excludes(&id(1)) && !filter.excludes(&id(2)) && filter.excludes(&id(3)));
        drop(filter.begin(1));
        assert!(!filter.excludes(&id(1)), "one that was given up changes nothing");
        filter.add("p3");
        assert!(!filter.excludes(&id(3)));
    }

    #[test]
    fn with_a_million_ids_at_most_two_of_ten_thousand_others_pass_on_average() {
        let filter = Filter::default();
        let next = filter.begin(0);
        (0..IDS).for_each(|n| next.add(&format!("p{n}")));
        next.finish();
        assert!((0..IDS).step_by(1_000).all(|n| !filter.excludes(&id(n))));
        let passed = (IDS..IDS + 100_000).filter(|n| !filter.excludes(&id(*n))).count();
        assert!(passed <= 20, "{passed} of 100,000");
    }
}
