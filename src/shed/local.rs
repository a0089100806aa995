//! The buckets of an isolate by itself, for routes that are to be limited even while Redis is away.
//!
//! Each is of the same shape as the one in Redis, starts full, and counts what this isolate lets pass. So one subject may
//! take its quota once an isolate. In a flood of distinct subjects the oldest buckets are forgotten, and start anew.

use super::denied::Bucket;
use super::table::Table;
use crate::admit::bucket::charge_all;
use crate::admit::{Charge, Level};
use crate::model::{Micros, Millis};

/// The buckets: each one's theoretical arrival time, by the isolate's clock.
#[derive(Debug)]
pub struct Local(Table<Bucket, Micros>);

impl Local {
    /// At most `most` buckets.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Table::new(most, usize::MAX))
    }

    /// Charges all buckets or none.
    ///
    /// # Errors
    /// The levels as they were, when at least one bucket refuses.
    pub fn charge(&mut self, asked: &[(&Bucket, Charge)], now: Millis) -> Result<Vec<Level>, Vec<Level>> {
        let charges: Vec<Charge> = asked.iter().map(|(_, charge)| *charge).collect();
        let stored: Vec<Micros> = asked.iter().map(|(b, _)| self.0.get(b, now).copied().unwrap_or_default()).collect();
        let levels = charge_all(&charges, &stored, now.micros())?;
        for ((bucket, _), level) in asked.iter().zip(&levels) {
            let until = now.plus(level.0.ceil_millis());
            self.0.put((*bucket).clone(), Micros(now.micros().0.saturating_add(level.0.0)), 0, until);
        }
        Ok(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Tag;
    use crate::model::{Cost, Quota};

    fn bucket(subject: &str) -> Bucket {
        Bucket { version: 0, limit: 0, subject: Tag::of(&[subject.as_bytes()]) }
    }

    fn charge(burst: u32, cost: u32) -> Charge {
        Charge { quota: Quota::parse(burst, "2/s").unwrap(), cost: Cost(cost) }
    }

    #[test]
    fn it_holds_as_the_bucket_in_redis_would() {
        let (mut local, user) = (Local::new(10), bucket("42"));
        let mut passed = |cost, now| local.charge(&[(&user, charge(5, cost))], Millis(now)).is_ok();
        assert!(passed(3, 0) && passed(2, 0) && !passed(1, 499));
        assert!(passed(1, 500) && !passed(1, 500), "two a second");
        assert!(passed(5, 3_500), "full again, and no fuller");
        assert!(!passed(1, 3_999));
    }

    #[test]
    fn one_refusal_charges_none() {
        let (mut local, user, ip) = (Local::new(10), bucket("42"), bucket("1.2.3.4"));
        let both = [(&user, charge(1, 1)), (&ip, charge(3, 1))];
        assert!(local.charge(&both, Millis(0)).is_ok());
        assert_eq!(local.charge(&both, Millis(0)), Err(vec![Level(Micros(500_000)), Level(Micros(500_000))]));
        assert!(local.charge(&[(&ip, charge(3, 2))], Millis(0)).is_ok(), "two of three are left");
    }

    #[test]
    fn r_chmonitor_2467_a_flood_of_subjects_stays_bounded() {
        let mut local = Local::new(100);
        for i in 0..10_000 {
            assert!(local.charge(&[(&bucket(&i.to_string()), charge(5, 5))], Millis(0)).is_ok());
        }
        assert_eq!(local.0.len(), 100);
        assert!(local.charge(&[(&bucket("9999"), charge(5, 1))], Millis(0)).is_err());
    }
}
