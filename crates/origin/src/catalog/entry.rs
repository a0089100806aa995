//! Entries of the caches, and what is to be done with one at some moment: no I/O, and time is a parameter.

use serde::{Deserialize, Serialize};
use sluice::model::Millis;

use crate::domain::product::{Class, Product};

/// How long an entry in Redis lives at least.
pub(crate) const LIFE: Millis = Millis::from_secs(30 * 60);
/// And by how much longer at most, so that what was written at once does not end at once.
pub(crate) const JITTER: Millis = Millis::from_secs(300);
/// How long "there is no such product" is kept.
pub(crate) const NOTHING: Millis = Millis::from_secs(60);
/// How long this process tells its copy without asking.
pub(crate) const FRESH: Millis = Millis::from_secs(10);
/// How long it may tell it when nobody can be asked, or the one who asks takes too long.
pub(crate) const STALE: Millis = Millis::from_secs(300);

/// A product, or that there is none, as of some version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) product: Option<Product>,
    /// When it should be read again, ms since 1970.
    until: u64,
}

/// What is to be done with an entry of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Tell it.
    Tell,
    /// Tell it, and have it read again meanwhile.
    TellAndRebuild,
    /// Read it again first.
    Rebuild,
}

/// What a copy in this process is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It can be told.
    Fresh,
    /// Only if nothing better can be had.
    Stale,
    /// Not at all.
    Nothing,
}

impl Entry {
    /// What SQL said just now, and how long Redis is to keep it. `random` is any number.
    pub(crate) fn new(product: Option<Product>, now: Millis, random: u64) -> (Self, Millis) {
        let life = match &product {
            None => NOTHING,
            Some(_) => LIFE.plus(Millis(random % (JITTER.0 + 1))),
        };
        // One whose expiry is logical stays a while longer, to be told while it is read again.
        let is_hot = product.as_ref().is_some_and(|product| product.class == Class::Hot);
        let ttl = if is_hot { life.plus(LIFE) } else { life };
        (Self { product, until: now.plus(life).0 }, ttl)
    }

    /// The product's; 0 where there is none.
    pub(crate) fn version(&self) -> u64 {
        self.product.as_ref().map_or(0, |product| product.version)
    }

    /// What to do with it, when versions below `floor` are known to be over.
    pub(crate) fn step(&self, floor: u64, now: Millis) -> Step {
        if self.version() < floor {
            return Step::Rebuild;
        }
        match &self.product {
            _ if now.0 < self.until => Step::Tell,
            Some(product) if product.class == Class::Hot => Step::TellAndRebuild,
            _ => Step::Rebuild,
        }
    }

    /// What a copy is worth that was made at `at`. `hears` says whether changes are heard of at once.
    pub(crate) fn worth(&self, floor: u64, at: Millis, hears: bool, now: Millis) -> Worth {
        // A clock that went back makes a copy old, not eternal.
        let age = if now < at { FRESH } else { now.minus(at) };
        if self.version() < floor || age >= STALE {
            Worth::Nothing
        } else if age < FRESH && hears {
            Worth::Fresh
        } else if self.product.is_some() {
            Worth::Stale
        } else {
            Worth::Nothing
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn product(class: Class, version: u64) -> Product {
        Product {
            id: "p".to_owned(),
            title: "P".to_owned(),
            description: String::new(),
            price: 1,
            currency: "CNY".to_owned(),
            class,
            version,
            updated_at: 0,
        }
    }

    const NOW: Millis = Millis(1_000_000);

    #[test]
    fn lives_are_half_an_hour_and_up_to_five_minutes_more_and_nothing_lives_a_minute() {
        let ttl = |random| Entry::new(Some(product(Class::Standard, 1)), NOW, random).1;
        assert_eq!([0, 1, JITTER.0, JITTER.0 + 1].map(|random| ttl(random).minus(LIFE).0), [0, 1, JITTER.0, 0]);
        assert_eq!(ttl(u64::MAX).minus(LIFE.plus(JITTER)), Millis(0));
        assert_eq!(Entry::new(None, NOW, 7).1, NOTHING);
        assert_eq!(Entry::new(Some(product(Class::Hot, 1)), NOW, 7).1, Millis(LIFE.0 * 2 + 7));
    }

    #[test]
    fn after_its_time_only_what_is_hot_is_told_on() {
        let step =
            |class, floor, later| Entry::new(Some(product(class, 3)), NOW, 0).0.step(floor, NOW.plus(Millis(later)));
        for class in [Class::Standard, Class::Hot] {
            assert_eq!(step(class, 3, LIFE.0 - 1), Step::Tell);
            assert_eq!(step(class, 4, 0), Step::Rebuild, "a newer version was announced");
        }
        assert_eq!(step(Class::Standard, 0, LIFE.0), Step::Rebuild);
        assert_eq!(step(Class::Hot, 0, LIFE.0), Step::TellAndRebuild);
        assert_eq!(step(Class::Hot, 4, LIFE.0), Step::Rebuild);
        assert_eq!(Entry::new(None, NOW, 0).0.step(0, NOW.plus(NOTHING)), Step::Rebuild);
        assert_eq!(Entry::new(None, NOW, 0).0.step(1, NOW), Step::Rebuild, "it was made meanwhile");
    }

    #[test]
    fn a_copy_is_fresh_for_ten_seconds_if_changes_are_heard_of_and_then_a_stopgap() {
        let (entry, _) = Entry::new(Some(product(Class::Standard, 3)), NOW, 0);
        let worth = |floor, hears, now| entry.worth(floor, NOW, hears, Millis(now));
        assert_eq!(worth(3, true, NOW.0 + FRESH.0 - 1), Worth::Fresh);
        assert_eq!(worth(3, false, NOW.0), Worth::Stale, "deaf");
        assert_eq!(worth(3, true, NOW.0 + FRESH.0), Worth::Stale);
        assert_eq!(worth(3, true, NOW.0 - 1), Worth::Stale, "the clock went back");
        assert_eq!(worth(3, true, NOW.0 + STALE.0), Worth::Nothing);
        assert_eq!(worth(4, true, NOW.0), Worth::Nothing, "a newer version was announced");
        let (nothing, _) = Entry::new(None, NOW, 0);
        assert_eq!(nothing.worth(0, NOW, true, NOW), Worth::Fresh);
        assert_eq!(nothing.worth(0, NOW, false, NOW), Worth::Nothing, "that there is none is never a stopgap");
    }
}
