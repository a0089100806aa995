//! A map that can never grow without bound: so many entries, so many bytes, and each for so long.
//!
//! When it is full the oldest entry goes. A flood of random keys costs it what it held, and nothing else.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::model::Millis;

/// Entries by key, each until its own time.
#[derive(Debug)]
pub struct Table<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys in the order in which they were put, with the number of that putting; stale ones are skipped.
    order: VecDeque<(K, u64)>,
    puts: u64,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    until: Millis,
    bytes: usize,
    put: u64,
}

impl<K: Hash + Eq + Clone, V> Table<K, V> {
    /// A table of at most `most` entries and `most_bytes` bytes, as its users count them.
    #[must_use]
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), puts: 0, bytes: 0, most, most_bytes }
    }

    /// The value, unless its time is over.
    #[must_use]
    pub fn get(&self, key: &K, now: Millis) -> Option<&V> {
        self.entries.get(key).filter(|entry| now < entry.until).map(|entry| &entry.value)
    }

    /// The value, to be changed, unless its time is over.
    pub fn get_mut(&mut self, key: &K, now: Millis) -> Option<&mut V> {
        self.entries.get_mut(key).filter(|entry| now < entry.until).map(|entry| &mut entry.value)
    }

    /// Puts a value that counts `bytes` until `until`; what is too large for the whole table is not kept.
    pub fn put(&mut self, key: K, value: V, bytes: usize, until: Millis) {
        self.remove(&key);
        if bytes > self.most_bytes || self.most == 0 {
            return;
        }
        while self.entries.len() >= self.most || self.bytes + bytes > self.most_bytes {
            if !self.drop_oldest() {
                break;
            }
        }
        self.puts += 1;
        self.bytes += bytes;
        self.order.push_back((key.clone(), self.puts));
        self.entries.insert(key, Entry { value, until, bytes, put: self.puts });
        // Removed and replaced keys leave stale places behind; they may never outnumber the live ones for long.
        if self.order.len() > 2 * self.most {
            let entries = &self.entries;
            self.order.retain(|(key, put)| entries.get(key).is_some_and(|entry| entry.put == *put));
        }
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    /// How many entries there are, those included whose time is over.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes they count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) -> bool {
        while let Some((key, put)) = self.order.pop_front() {
            if self.entries.get(&key).is_some_and(|entry| entry.put == put) {
                self.remove(&key);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FOREVER: Millis = Millis(u64::MAX);

    #[test]
    fn r_chmonitor_2467_100_000_distinct_keys_stay_bounded() {
        let mut table = Table::new(1000, 10_000);
        for key in 0..100_000u32 {
            table.put(key, (), 20, FOREVER);
        }
        assert_eq!((table.len(), table.bytes()), (500, 10_000));
        assert!(table.order.len() <= 2000);
        assert!(table.get(&99_999, Millis(0)).is_some() && table.get(&99_000, Millis(0)).is_none());
    }

    #[test]
    fn r_rate_limiter_flexible_238_an_entry_ends_when_it_is_read_after_its_time() {
        let mut table = Table::new(10, 10);
        table.put("a", 1, 1, Millis(5));
        assert_eq!((table.get(&"a", Millis(4)), table.get(&"a", Millis(5))), (Some(&1), None));
    }

    #[test]
    fn one_key_put_again_and_again_takes_one_place() {
        let mut table = Table::new(3, 100);
        for value in 0..1000 {
            table.put("a", value, 10, FOREVER);
        }
        table.put("b", 1, 10, FOREVER);
        assert_eq!((table.len(), table.bytes(), table.get(&"a", Millis(0))), (2, 20, Some(&999)));
        assert!(table.order.len() <= 7);
    }

    #[test]
    fn what_is_as_large_as_the_table_is_kept_and_what_is_larger_harms_nobody() {
        let mut table = Table::new(3, 100);
        assert!(table.is_empty());
        table.put("whole", 1, 100, FOREVER);
        assert_eq!((table.get(&"whole", Millis(0)), table.is_empty()), (Some(&1), false));
        table.put("small", 2, 10, FOREVER);
        table.put("too large", 3, 101, FOREVER);
        assert_eq!((table.get(&"small", Millis(0)), table.get(&"too large", Millis(0))), (Some(&2), None));
        let mut none = Table::new(0, 100);
        none.put("a", 1, 1, FOREVER);
        assert_eq!((none.len(), none.bytes()), (0, 0));
    }

    proptest! {
        #[test]
        fn it_counts_what_it_holds(steps in proptest::collection::vec((0u8..20, 0usize..12, any::<bool>()), 0..300)) {
            let mut table = Table::new(5, 30);
            for (key, bytes, put) in steps {
                if put { table.put(key, bytes, bytes, FOREVER) } else { table.remove(&key); }
                let held: usize = (0..20).filter_map(|k| table.get(&k, Millis(0))).sum();
                prop_assert_eq!(held, table.bytes());
                prop_assert!(table.len() <= 5 && table.bytes() <= 30);
            }
        }
    }
}
