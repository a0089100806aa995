//! One JSON line a decision: refusals in full up to a rate per isolate, then counted; what passes, one in so many;
//! what was decided without Redis always, up to a bound that only keeps the log itself alive.
//!
//! A line names the request and never a user, an address, a token or a value.

use std::cell::{Cell, RefCell};

use crate::api::json::{self, Object};
use crate::config::Log;
use crate::digest::Tag;
use crate::model::{Millis, Quota};
use crate::shed::Pace;

/// What was decided about one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision<'a> {
    pub(super) request_id: &'a Tag,
    /// Name of the route; none when there was no route.
    pub(super) route: Option<&'a str>,
    /// `admitted`, `replay`, `degraded`, or the problem's code.
    pub(super) verdict: &'a str,
    pub(super) status: u16,
    /// Whether it passed, or was answered from an earlier passing.
    pub(super) passed: bool,
    /// Whether the isolate's memory alone decided.
    pub(super) shed: bool,
    /// Whether Redis was away and the route's policy for that case decided.
    pub(super) degraded: bool,
    /// Limits in shadow that would have refused it.
    pub(super) would_refuse: &'a [String],
    pub(super) took: Millis,
}

/// Decides what is written.
#[derive(Debug)]
pub(super) struct Journal {
    one_in: Cell<u64>,
    passed: Cell<u64>,
    refusals: RefCell<Pace>,
    degraded: RefCell<Pace>,
    left_out: Cell<u64>,
}

impl Journal {
    pub(super) fn new(log: &Log) -> Self {
        Self {
            one_in: Cell::new(log.passed_one_in),
            passed: Cell::new(0),
            refusals: RefCell::new(Pace::new(Some(log.refusals))),
            degraded: RefCell::new(Pace::new(degradations())),
            left_out: Cell::new(0),
        }
    }

    /// Goes on under other bounds.
    pub(super) fn adjust(&self, log: &Log) {
        self.one_in.set(log.passed_one_in);
        self.refusals.replace(Pace::new(Some(log.refusals)));
    }

    /// The line to write, if one is to be written.
    pub(super) fn line(&self, decision: &Decision<'_>, now: Millis) -> Option<String> {
        // What a limit in shadow would have refused is written as a refusal is.
        let counted = decision.degraded || !decision.passed || !decision.would_refuse.is_empty();
        if counted {
            let pace = if decision.degraded { &self.degraded } else { &self.refusals };
            if pace.borrow_mut().take(now).is_err() {
                self.left_out.set(self.left_out.get().saturating_add(1));
                return None;
            }
        } else {
            let (nth, one_in) = (self.passed.get(), self.one_in.get());
            self.passed.set(nth.wrapping_add(1));
            if one_in == 0 || !nth.is_multiple_of(one_in) {
                return None;
            }
        }
        // Refusals and degraded decisions that were not written since the last one that was.
        let left_out = if counted { self.left_out.replace(0) } else { 0 };
        let line = Object::new()
            .text("event", "decision")
            .text("request_id", decision.request_id.as_str())
            .maybe("route", decision.route)
            .text("verdict", decision.verdict)
            .number("status", decision.status.into())
            .flag("shed", decision.shed)
            .flag("degraded", decision.degraded)
            .raw("shadow", &json::texts(decision.would_refuse))
            .number("took_ms", decision.took.0)
            .number("left_out", left_out);
        Some(line.done())
    }
}

/// 1000 at once, then 200 a second: all of them on any isolate that is not flooded.
fn degradations() -> Option<Quota> {
    Quota::parse(1_000, "200/s").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(one_in: u64) -> Journal {
        Journal::new(&Log { passed_one_in: one_in, refusals: Quota::parse(2, "2/s").unwrap() })
    }

    fn decision(id: &Tag, passed: bool) -> Decision<'_> {
        let (verdict, status) = if passed { ("admitted", 202) } else { ("too_many_requests", 429) };
        Decision {
            request_id: id,
            route: Some("order"),
            verdict,
            status,
            passed,
            shed: false,
            degraded: false,
            would_refuse: &[],
            took: Millis(3),
        }
    }

    #[test]
    fn what_passes_is_sampled() {
        let (journal, id) = (journal(10), Tag::of(&[]));
        let written = (0..100).filter_map(|_| journal.line(&decision(&id, true), Millis(0))).count();
        assert_eq!(written, 10);
        assert_eq!(self::journal(0).line(&decision(&id, true), Millis(0)), None);
    }

    #[test]
    fn what_was_decided_without_redis_is_always_written() {
        let (journal, id) = (journal(0), Tag::of(&[]));
        for passed in [true, false] {
            let decision = Decision { degraded: true, ..decision(&id, passed) };
            let written = (0..400).filter_map(|_| journal.line(&decision, Millis(0))).count();
            assert_eq!(written, 400, "passed: {passed}");
        }
        let flood = Decision { degraded: true, ..decision(&id, false) };
        let written = (0..10_000).filter_map(|_| journal.line(&flood, Millis(0))).count();
        assert_eq!(written, 200, "up to a bound");
    }

    #[test]
    fn what_a_limit_in_shadow_would_have_refused_is_written_as_a_refusal() {
        let (journal, id, names) = (journal(0), Tag::of(&[]), ["user".to_owned()]);
        let passed = Decision { would_refuse: &names, ..decision(&id, true) };
        let line = journal.line(&passed, Millis(0)).unwrap();
        assert!(line.contains("\"shadow\":[\"user\"]") && line.contains("\"verdict\":\"admitted\""), "{line}");
        assert_eq!((0..10).filter_map(|_| journal.line(&passed, Millis(0))).count(), 1, "up to the same rate");
    }

    #[test]
    fn a_flood_of_refusals_is_counted_instead_of_written() {
        let (journal, id) = (journal(0), Tag::of(&[]));
        let written = (0..100).filter_map(|_| journal.line(&decision(&id, false), Millis(0))).count();
        assert_eq!(written, 2);
        let next = journal.line(&decision(&id, false), Millis(1_000)).unwrap();
        assert!(next.contains("\"left_out\":98") && next.contains("\"verdict\":\"too_many_requests\""), "{next}");
    }
}
