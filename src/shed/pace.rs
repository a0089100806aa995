//! A token bucket in the isolate's memory: for what must be bounded even when no limit of Redis counts it.

use crate::admit::{Charge, Level};
use crate::model::{Cost, Micros, Millis, Quota};

/// One bucket, by the isolate's clock.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// None: nothing passes.
    charge: Option<Charge>,
    full_at: Micros,
}

impl Pace {
    /// A full bucket; without a quota, one from which nothing passes.
    #[must_use]
    pub fn new(quota: Option<Quota>) -> Self {
        Self { charge: quota.map(|quota| Charge { quota, cost: Cost(1) }), full_at: Micros(0) }
    }

    /// Takes one; how long to wait when there is none.
    ///
    /// # Errors
    /// The wait after which one can be taken.
    pub fn take(&mut self, now: Millis) -> Result<(), Millis> {
        let Some(charge) = self.charge else { return Err(Millis(1_000)) };
        let level = charge.level(self.full_at, now.micros());
        match charge.charged(level) {
            Some(Level(after)) => {
                self.full_at = Micros(now.micros().0.saturating_add(after.0));
                Ok(())
            }
            None => Err(charge.wait(level).unwrap_or_default().ceil_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_its_burst_and_then_its_rate() {
        let mut pace = Pace::new(Quota::parse(2, "10/s").ok());
        assert_eq!(
            [pace.take(Millis(0)), pace.take(Millis(0)), pace.take(Millis(0))],
            [Ok(()), Ok(()), Err(Millis(100))]
        );
        assert_eq!(pace.take(Millis(100)), Ok(()));
    }
}
