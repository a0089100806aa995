//! The holds of this process; time is a parameter.

use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// All that are held.
#[derive(Debug, Default)]
pub(super) struct Holds {
    last: u64,
    held: HashMap<u64, Held>,
}

#[derive(Debug)]
struct Held {
    kind: &'static str,
    name: String,
    since: Instant,
    told: bool,
    lost: bool,
}

/// A hold that has lasted too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overdue {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) lasted: Duration,
}

impl Holds {
    /// A lock was taken; the number stands for it from now on.
    pub(super) fn begin(&mut self, kind: &'static str, name: &str, now: Instant) -> u64 {
        self.last += 1;
        let held = Held { kind, name: name.to_owned(), since: now, told: false, lost: false };
        self.held.insert(self.last, held);
        self.last
    }

    /// Its lease is over. Its kind, the first time.
    pub(super) fn lost(&mut self, id: u64) -> Option<&'static str> {
        let held = self.held.get_mut(&id).filter(|held| !held.lost)?;
        held.lost = true;
        Some(held.kind)
    }

    /// It was released: its kind and how long it was held, the first time.
    pub(super) fn end(&mut self, id: u64, now: Instant) -> Option<(&'static str, Duration)> {
        self.held.remove(&id).map(|held| (held.kind, now.saturating_duration_since(held.since)))
    }

    /// Those that have newly lasted as long as `limit`, and how many have in all.
    pub(super) fn overdue(&mut self, now: Instant, limit: Duration) -> (Vec<Overdue>, usize) {
        let (mut news, mut all) = (Vec::new(), 0);
        for held in self.held.values_mut() {
            let lasted = now.saturating_duration_since(held.since);
            if lasted >= limit {
                all += 1;
                if !std::mem::replace(&mut held.told, true) {
                    news.push(Overdue { kind: held.kind, name: held.name.clone(), lasted });
                }
            }
        }
        (news, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_hold_that_lasts_too_long_is_told_of_once() {
        let start = Instant::now();
        let mut holds = Holds::default();
        let first = holds.begin("simple", "a", start);
        holds.begin("fair", "b", start + s(5));
        assert_eq!(holds.overdue(start + s(9), s(10)), (vec![], 0));
        let told = Overdue { kind: "simple", name: "a".to_owned(), lasted: s(10) };
        assert_eq!(holds.overdue(start + s(10), s(10)), (vec![told], 1));
        assert_eq!(holds.overdue(start + s(11), s(10)), (vec![], 1), "still held, but known");
        assert_eq!(holds.end(first, start + s(12)), Some(("simple", s(12))));
        assert_eq!(holds.end(first, start + s(13)), None);
        let (news, all) = holds.overdue(start + s(60), s(10));
        assert_eq!((news.len(), all), (1, 1));
    }

    #[test]
    fn a_lease_is_lost_once() {
        let mut holds = Holds::default();
        let id = holds.begin("simple", "a", Instant::now());
        assert_eq!(holds.lost(id), Some("simple"));
        assert_eq!(holds.lost(id), None);
        assert_eq!(holds.lost(id + 1), None);
    }
}
