//! What this process knows of the sales, for a moment: a crowd that asks for one sale costs one look-up.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use sluice::model::{Millis, Sku};
use tokio::sync::Mutex;

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

type Slot = Arc<Mutex<Option<(Millis, Option<Seen>)>>>;

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

    /// The sale, from memory or by `look_up`; `None` where there is no such sale, which is remembered as well.
    pub(crate) async fn get<E>(
        &self,
        sku: &Sku,
        now: Millis,
        look_up: impl Future<Output = Result<Option<Seen>, E>>,
    ) -> Result<Option<Seen>, E> {
        let slot = self.slot(sku);
        let mut kept = slot.lock().await;
        if let Some((at, seen)) = &*kept {
            // A clock that goes back makes an entry old, not eternal.
            if *at <= now && now < at.plus(self.ttl) {
                return Ok(seen.clone());
            }
        }
        let seen = look_up.await?;
        *kept = Some((now, seen.clone()));
        Ok(seen)
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
        let looked = std::sync::atomic::AtomicUsize::new(0);
        for now in [1000, 1199, 1200, 900] {
            let look_up = async {
                looked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Ok::<_, ()>(None)
            };
            assert!(cache.get(&sku, Millis(now), look_up).await.unwrap().is_none());
        }
        assert_eq!(looked.into_inner(), 3, "1199 is served from memory");
    }

    #[tokio::test]
    async fn a_flood_of_skus_does_not_grow_it() {
        let cache = SaleCache::new(Millis(200));
        for n in 0..3000 {
            let sku = Sku::parse(&format!("s{n}")).unwrap();
            let _ = cache.get(&sku, Millis(1), async { Ok::<_, ()>(None) }).await;
        }
        assert!(cache.slots.lock().unwrap().len() <= MOST);
    }
}
