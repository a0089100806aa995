//! What this process knows of the sales, for a moment: a crowd that asks for one sale costs one look-up.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use sluice::model::{Millis, Sku};
use tokio::sync::Mutex;

use crate::clock::Clock;
use crate::domain::sale::{Sale, State};

/// Sales that are kept at once.
const MOST: usize = 1024;

/// A sale as it was a moment ago.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) sale: Sale,
    pub(crate) state: State,
    pub(crate) stock: i64,
    /// Redis' time at that moment.
    pub(crate) now: Millis,
}

/// The stores did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

type Found = Result<Option<Seen>, Failed>;
type Slot = Arc<Mutex<Option<(Millis, Found)>>>;

/// The sales, each behind a lock of its own: one caller looks it up, the others wait for what it finds.
pub(crate) struct SaleCache {
    ttl: Millis,
    slots: std::sync::Mutex<HashMap<Sku, Slot>>,
}

impl SaleCache {
    /// Keeps each sale for `ttl`.
    pub(crate) fn new(ttl: Millis) -> Self {
        Self { ttl, slots: std::sync::Mutex::default() }
    }

    /// The sale, from memory or by `look_up`; `None` where there is no such sale. That is remembered as well, and so is
    /// a failure: those who wait behind a store that hangs must not each wait for it again.
    pub(crate) async fn get(&self, sku: &Sku, clock: &Clock, look_up: impl Future<Output = Found>) -> Found {
        let slot = self.slot(sku);
        let mut kept = slot.lock().await;
        let now = clock.now();
        if let Some((at, found)) = &*kept {
            // A clock that goes back makes an entry old, not eternal.
            if *at <= now && now < at.plus(self.ttl) {
                return found.clone();
            }
        }
        let found = look_up.await;
        *kept = Some((clock.now(), found.clone()));
        found
    }

    fn slot(&self, sku: &Sku) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(sku) {
            slots.clear();
        }
        slots.entry(sku.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn within_its_time_one_look_up_serves_all() {
        let cache = SaleCache::new(Millis(200));
        let sku = Sku::parse("demo").unwrap();
        let mut looked = 0;
        for (now, found) in
            [(1000, Ok(None)), (1199, Err(Failed)), (1200, Err(Failed)), (1399, Ok(None)), (900, Ok(None))]
        {
            let look_up = async {
                looked += 1;
                found
            };
            let got = cache.get(&sku, &Clock::new(move || Millis(now)), look_up).await;
            assert_eq!(got.is_err(), now == 1200 || now == 1399, "{now}");
        }
        assert_eq!(looked, 3, "1199 and 1399 are served from memory");
    }

    #[tokio::test]
    async fn a_flood_of_skus_does_not_grow_it() {
        let cache = SaleCache::new(Millis(200));
        for n in 0..3000 {
            let sku = Sku::parse(&format!("s{n}")).unwrap();
            let _ = cache.get(&sku, &Clock::system(), async { Ok(None) }).await;
        }
        assert!(cache.slots.lock().unwrap().len() <= MOST);
    }
}
