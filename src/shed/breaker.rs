//! The circuit breaker in front of Redis: after so many failures in a row nobody asks for a while, then one does.

use crate::model::Millis;

/// When it opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Failures in a row that open it.
    pub failures: u32,
    /// How long it stays open before one call may try.
    pub open: Millis,
    /// How long that one call keeps others out. A cancelled request never reports back, so this is a lease.
    pub probe: Millis,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Ask, and report how it went.
    Ask,
    /// Do not ask; it may be tried again after this long.
    Refused(Millis),
}

/// The breaker of one isolate.
#[derive(Clone, Debug)]
pub struct Breaker {
    terms: Terms,
    failed: u32,
    /// When the next call may try, while it is open.
    until: Option<Millis>,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Self { terms, failed: 0, until: None }
    }

    /// Goes on under other terms; an open breaker stays open as long as it was to.
    pub fn adjust(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// Whether a call may be made at `now`. On an open breaker whose time has come the caller becomes the probe.
    pub fn permit(&mut self, now: Millis) -> Permit {
        match self.until {
            None => Permit::Ask,
            Some(until) if now < until => Permit::Refused(until.minus(now)),
            Some(_) => {
                self.until = Some(now.plus(self.terms.probe));
                Permit::Ask
            }
        }
    }

    /// The call was answered: by a verdict, or by an error that is no outage.
    pub fn answered(&mut self) {
        self.failed = 0;
        self.until = None;
    }

    /// The call failed.
    pub fn failed(&mut self, now: Millis) {
        self.failed = self.failed.saturating_add(1);
        if self.until.is_some() || self.failed >= self.terms.failures {
            self.until = Some(now.plus(self.terms.open));
        }
    }

    /// The call failed in a way that the next one would too (a wrong token): it opens at once.
    pub fn failed_for_good(&mut self, now: Millis) {
        self.failed = self.terms.failures;
        self.until = Some(now.plus(self.terms.open));
    }

    /// Whether it is open at `now`.
    #[must_use]
    pub fn is_open(&self, now: Millis) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { failures: 5, open: Millis(10_000), probe: Millis(1_000) };

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(TERMS);
        (0..5).for_each(|_| breaker.failed(Millis(0)));
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_four_do_not() {
        let mut breaker = Breaker::new(TERMS);
        (0..4).for_each(|_| breaker.failed(Millis(0)));
        assert_eq!(breaker.permit(Millis(0)), Permit::Ask);
        breaker.answered();
        (0..4).for_each(|_| breaker.failed(Millis(0)));
        assert_eq!(breaker.permit(Millis(0)), Permit::Ask, "an answer starts the count anew");
        breaker.failed(Millis(0));
        assert_eq!(breaker.permit(Millis(1)), Permit::Refused(Millis(9_999)));
    }

    #[test]
    fn after_its_time_one_call_tries_and_the_others_wait() {
        let mut breaker = opened();
        assert_eq!(breaker.permit(Millis(10_000)), Permit::Ask);
        assert_eq!(breaker.permit(Millis(10_000)), Permit::Refused(Millis(1_000)));
        breaker.answered();
        assert_eq!(breaker.permit(Millis(10_001)), Permit::Ask);
    }

    #[test]
    fn a_probe_that_fails_opens_it_again_and_one_that_vanishes_blocks_for_its_lease_only() {
        let mut breaker = opened();
        breaker.permit(Millis(10_000));
        breaker.failed(Millis(10_100));
        assert_eq!(breaker.permit(Millis(10_101)), Permit::Refused(Millis(9_999)));
        let mut breaker = opened();
        breaker.permit(Millis(10_000));
        assert_eq!(breaker.permit(Millis(11_000)), Permit::Ask);
    }

    #[test]
    fn r_redis_js_1389_a_wrong_token_opens_it_at_once() {
        let mut breaker = Breaker::new(TERMS);
        breaker.failed_for_good(Millis(0));
        assert!(breaker.is_open(Millis(9_999)) && !breaker.is_open(Millis(10_000)));
    }

    #[test]
    fn other_terms_count_at_once_and_an_open_breaker_stays_open_as_long_as_it_was_to() {
        let (mut breaker, mut open) = (Breaker::new(TERMS), opened());
        for one in [&mut breaker, &mut open] {
            one.adjust(Terms { failures: 2, open: Millis(50), probe: Millis(7) });
        }
        (0..2).for_each(|_| breaker.failed(Millis(0)));
        assert_eq!(breaker.permit(Millis(0)), Permit::Refused(Millis(50)));
        assert_eq!(breaker.permit(Millis(50)), Permit::Ask);
        assert_eq!(breaker.permit(Millis(50)), Permit::Refused(Millis(7)));
        assert_eq!(open.permit(Millis(9_999)), Permit::Refused(Millis(1)));
    }
}
