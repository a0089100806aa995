//! What the isolate knows of sales: snapshots that Redis gave it, each for at most `snapshot_ms`, and one refresh at a time.

use super::table::Table;
use crate::admit::Snapshot;
use crate::model::{Millis, Sku};

/// What is known of one sale.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    snapshot: Option<(Snapshot, Millis)>,
    /// Until when someone is expected to bring a newer one.
    refreshing_until: Millis,
    /// Redis holds no such sale.
    absent: bool,
}

/// The sales that one isolate has seen lately.
#[derive(Debug)]
pub struct Sales {
    known: Table<Sku, Known>,
    unknown: Table<Sku, ()>,
    fresh: Millis,
    lease: Millis,
}

/// How long a sale is remembered at all after it was last heard of.
const REMEMBERED: Millis = Millis(600_000);

impl Sales {
    /// Snapshots hold for `fresh`; a refresh that does not come back is given up after `lease`.
    #[must_use]
    pub fn new(most: usize, fresh: Millis, lease: Millis) -> Self {
        Self { known: Table::new(most, usize::MAX), unknown: Table::new(most, usize::MAX), fresh, lease }
    }

    /// Goes on with another freshness, which counts at once, and another lease.
    pub fn adjust(&mut self, fresh: Millis, lease: Millis) {
        (self.fresh, self.lease) = (fresh, lease);
    }

    /// The snapshot, while it is fresh.
    #[must_use]
    pub fn get(&self, sku: &Sku, now: Millis) -> Option<Snapshot> {
        let (snapshot, heard) = self.known.get(sku, now)?.snapshot?;
        (now < heard.plus(self.fresh)).then_some(snapshot)
    }

    /// What those who only look are shown without asking: `Some(None)` that Redis holds no such sale. A snapshot that is
    /// no longer fresh is shown while someone brings a newer one, up to three times that age.
    #[must_use]
    pub fn shown(&self, sku: &Sku, now: Millis) -> Option<Option<Snapshot>> {
        let known = self.known.get(sku, now)?;
        let refreshing = now < known.refreshing_until;
        if known.absent {
            return refreshing.then_some(None);
        }
        let (snapshot, heard) = known.snapshot?;
        let old = Millis(self.fresh.0.saturating_mul(if refreshing { 3 } else { 1 }));
        (now < heard.plus(old)).then_some(Some(snapshot))
    }

    /// Whether Redis has told of this sale lately, fresh or not.
    #[must_use]
    pub fn is_known(&self, sku: &Sku, now: Millis) -> bool {
        self.known.get(sku, now).is_some_and(|known| known.snapshot.is_some())
    }

    /// Whether this caller is to bring a new snapshot: there is no fresh one, and nobody else is at it.
    pub fn begin_refresh(&mut self, sku: &Sku, now: Millis) -> bool {
        if self.get(sku, now).is_some() {
            return false;
        }
        let mut known = self.known.get(sku, now).copied().unwrap_or_default();
        if now < known.refreshing_until {
            return false;
        }
        (known.refreshing_until, known.absent) = (now.plus(self.lease), false);
        self.known.put(sku.clone(), known, 0, now.plus(REMEMBERED));
        true
    }

    /// Takes a snapshot that was asked for at the isolate's `asked`. One that Redis dated earlier never replaces a newer.
    pub fn learn(&mut self, sku: &Sku, snapshot: Snapshot, asked: Millis) {
        let mut known = self.known.get(sku, asked).copied().unwrap_or_default();
        (known.refreshing_until, known.absent) = (Millis(0), false);
        if known.snapshot.is_none_or(|(old, _)| old.at <= snapshot.at) {
            known.snapshot = Some((snapshot, asked));
        }
        self.known.put(sku.clone(), known, 0, asked.plus(REMEMBERED));
    }

    /// Redis holds no such sale (it is not preheated, or does not exist): nobody looks again while that is fresh.
    pub fn learn_absent(&mut self, sku: &Sku, now: Millis) {
        let known = Known { snapshot: None, refreshing_until: now.plus(self.fresh), absent: true };
        self.known.put(sku.clone(), known, 0, now.plus(REMEMBERED));
    }

    /// The origin says that nothing at all is left, at Redis' time `at`.
    pub fn sold_out(&mut self, sku: &Sku, at: Millis, now: Millis) {
        let Some((snapshot, _)) = self.known.get(sku, now).and_then(|known| known.snapshot) else { return };
        self.learn(sku, Snapshot { stock: Some(0), at, ..snapshot }, now);
    }

    /// The origin knows no such sale.
    pub fn learn_unknown(&mut self, sku: &Sku, now: Millis) {
        self.unknown.put(sku.clone(), (), 0, now.plus(self.fresh));
    }

    /// Whether the origin said lately that there is no such sale.
    #[must_use]
    pub fn is_unknown(&self, sku: &Sku, now: Millis) -> bool {
        self.unknown.get(sku, now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Snapshot = Snapshot {
        at: Millis(100),
        starts_at: Millis(50),
        ends_at: Millis(1_000),
        paused: false,
        stock: Some(3),
        price: 9,
    };

    fn sku() -> Sku {
        Sku::parse("demo").unwrap()
    }

    fn sales() -> Sales {
        Sales::new(10, Millis(1_000), Millis(400))
    }

    #[test]
    fn one_caller_refreshes_at_a_time_and_a_lost_refresh_is_given_up() {
        let mut sales = sales();
        assert!(sales.begin_refresh(&sku(), Millis(0)));
        assert!(!sales.begin_refresh(&sku(), Millis(399)));
        assert!(sales.begin_refresh(&sku(), Millis(400)));
        sales.learn(&sku(), OPEN, Millis(400));
        assert!(!sales.begin_refresh(&sku(), Millis(1_399)));
        assert!(sales.begin_refresh(&sku(), Millis(1_400)));
    }

    #[test]
    fn an_older_snapshot_never_replaces_a_newer() {
        let mut sales = sales();
        sales.learn(&sku(), OPEN, Millis(0));
        sales.sold_out(&sku(), Millis(200), Millis(1));
        sales.learn(&sku(), Snapshot { at: Millis(150), ..OPEN }, Millis(2));
        assert_eq!(sales.get(&sku(), Millis(3)).unwrap().stock, Some(0));
        sales.learn(&sku(), Snapshot { at: Millis(201), ..OPEN }, Millis(3));
        assert_eq!(sales.get(&sku(), Millis(3)).unwrap().stock, Some(3), "a restock is seen");
    }

    #[test]
    fn a_sale_that_redis_does_not_hold_is_looked_for_once_while_that_is_fresh() {
        let mut sales = sales();
        sales.learn_absent(&sku(), Millis(0));
        assert!(!sales.begin_refresh(&sku(), Millis(999)) && sales.begin_refresh(&sku(), Millis(1_000)));
    }

    #[test]
    fn who_only_looks_is_shown_the_old_one_while_one_refresh_is_under_way() {
        let mut sales = sales();
        sales.learn(&sku(), OPEN, Millis(0));
        assert_eq!(sales.shown(&sku(), Millis(999)), Some(Some(OPEN)));
        assert_eq!(sales.shown(&sku(), Millis(1_000)), None, "this one asks");
        assert!(sales.begin_refresh(&sku(), Millis(1_000)));
        assert_eq!(sales.shown(&sku(), Millis(1_399)), Some(Some(OPEN)), "the others do not");
        assert_eq!(sales.shown(&sku(), Millis(1_400)), None, "the refresh was lost");
        assert!(sales.begin_refresh(&sku(), Millis(2_900)));
        assert_eq!(sales.shown(&sku(), Millis(3_000)), None, "too old for anybody");
    }

    #[test]
    fn that_there_is_no_such_sale_is_shown_for_a_moment() {
        let mut sales = sales();
        assert_eq!(sales.shown(&sku(), Millis(0)), None);
        sales.learn_absent(&sku(), Millis(0));
        assert_eq!((sales.shown(&sku(), Millis(999)), sales.shown(&sku(), Millis(1_000))), (Some(None), None));
        sales.learn(&sku(), OPEN, Millis(1_000));
        assert_eq!(sales.shown(&sku(), Millis(1_000)), Some(Some(OPEN)));
    }

    #[test]
    fn an_unknown_sale_is_remembered_for_a_moment() {
        let mut sales = sales();
        sales.learn_unknown(&sku(), Millis(0));
        assert!(sales.is_unknown(&sku(), Millis(999)) && !sales.is_unknown(&sku(), Millis(1_000)));
    }

    #[test]
    fn another_freshness_counts_at_once_and_another_lease_from_the_next_refresh_on() {
        let mut sales = sales();
        sales.learn(&sku(), OPEN, Millis(0));
        sales.adjust(Millis(100), Millis(7));
        assert!(sales.get(&sku(), Millis(99)).is_some() && sales.get(&sku(), Millis(100)).is_none());
        assert!(sales.begin_refresh(&sku(), Millis(100)));
        assert!(!sales.begin_refresh(&sku(), Millis(106)) && sales.begin_refresh(&sku(), Millis(107)));
    }
}
