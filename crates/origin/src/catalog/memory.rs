//! What this process remembers: copies of entries, the newest version of each product that it has heard of or told, and
//! who is looking for what.

use std::sync::Arc;
use std::time::Duration;

use moka::ops::compute::Op;
use moka::sync::Cache;
use sluice::model::{Millis, Sku};
use tokio::sync::Mutex;

use super::entry::{Entry, STALE, Worth};

/// Bytes of all copies together, about.
const BYTES: u64 = 64 * 1024 * 1024;
/// Products whose versions are remembered.
const FLOORS: u64 = 200_000;
/// Products that are looked for at once without getting into each other's way.
const FLIGHTS: u64 = 10_000;

#[derive(Clone)]
struct Copied {
    entry: Arc<Entry>,
    at: Millis,
}

/// Bounded in every way.
pub(crate) struct Memory {
    copies: Cache<Sku, Copied>,
    /// What is older than this is over: no later answer of this process goes back behind an earlier one.
    floors: Cache<Sku, u64>,
    flights: Cache<Sku, Arc<Mutex<()>>>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let stale = Duration::from_millis(STALE.0);
        let weigh = |sku: &Sku, copied: &Copied| {
            let texts = copied.entry.product.as_ref().map_or(0, |p| p.title.len() + p.description.len());
            u32::try_from(sku.as_str().len() + texts + 300).unwrap_or(u32::MAX)
        };
        Self {
            copies: Cache::builder().max_capacity(BYTES).weigher(weigh).time_to_live(stale).build(),
            // Longer than any copy lives, and than Redis keeps its floor.
            floors: Cache::builder().max_capacity(FLOORS).time_to_live(stale * 2).build(),
            flights: Cache::builder().max_capacity(FLIGHTS).time_to_idle(Duration::from_secs(60)).build(),
        }
    }

    /// A copy, and what it is worth.
    pub(crate) fn copy(&self, sku: &Sku, hears: bool, now: Millis) -> Option<(Worth, Arc<Entry>)> {
        let Copied { entry, at } = self.copies.get(sku)?;
        Some((entry.worth(self.floor(sku), at, hears, now), entry))
    }

    /// Keeps a copy, unless a newer version was heard of. What is kept was told: nothing older is told from now on.
    pub(crate) fn keep(&self, sku: &Sku, entry: &Arc<Entry>, now: Millis) -> bool {
        let version = entry.version();
        if self.raise(sku, version) > version {
            return false;
        }
        self.copies.insert(sku.clone(), Copied { entry: Arc::clone(entry), at: now });
        true
    }

    /// A version was announced. Older copies are worth nothing from now on.
    pub(crate) fn outdate(&self, sku: &Sku, version: u64) {
        self.raise(sku, version);
    }

    /// Changes may have been missed: no copy is good any more.
    pub(crate) fn forget_copies(&self) {
        self.copies.invalidate_all();
    }

    /// The newest version that was heard of.
    pub(crate) fn floor(&self, sku: &Sku) -> u64 {
        self.floors.get(sku).unwrap_or(0)
    }

    /// Who holds it looks for the product; the others wait.
    pub(crate) fn flight(&self, sku: &Sku) -> Arc<Mutex<()>> {
        self.flights.get_with_by_ref(sku, Arc::default)
    }

    /// Raises the floor, and returns it. That there is no product (0) needs no floor.
    fn raise(&self, sku: &Sku, version: u64) -> u64 {
        if version == 0 {
            return self.floor(sku);
        }
        let raised = self.floors.entry_by_ref(sku).and_compute_with(|known| match known {
            Some(known) if known.value() > &version => Op::Nop,
            // Written again, it lives longer.
            _ => Op::Put(version),
        });
        raised.into_entry().map_or(version, moka::Entry::into_value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::product;
    use super::*;
    use crate::domain::product::Class;

    const NOW: Millis = Millis(1_000_000);

    fn entry(version: u64) -> Arc<Entry> {
        let product = (version > 0).then(|| product(Class::Standard, version));
        Arc::new(Entry::new(product, NOW, 0).0)
    }

    #[test]
    fn what_was_told_or_announced_is_never_gone_back_behind() {
        let (memory, sku) = (Memory::new(), Sku::parse("p").unwrap());
        let worth = || memory.copy(&sku, true, NOW).map(|(worth, entry)| (worth, entry.version()));
        assert!(memory.keep(&sku, &entry(0), NOW), "there is none yet");
        assert_eq!(worth(), Some((Worth::Fresh, 0)));
        assert!(memory.keep(&sku, &entry(2), NOW));
        assert_eq!(worth(), Some((Worth::Fresh, 2)));
        assert!(!memory.keep(&sku, &entry(1), NOW) && !memory.keep(&sku, &entry(0), NOW));
        assert_eq!(worth(), Some((Worth::Fresh, 2)));
        memory.outdate(&sku, 3);
        assert_eq!(worth(), Some((Worth::Nothing, 2)));
        memory.outdate(&sku, 1);
        assert_eq!(memory.floor(&sku), 3, "an old announcement lowers nothing");
        memory.forget_copies();
        assert_eq!(worth(), None);
        assert_eq!(memory.floor(&sku), 3);
    }
}
