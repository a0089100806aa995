//! One JSON line a decision: refusals in full up to a rate per isolate, then counted; what passes, one in so many.
//!
//! A line names the request and never a user, an address, a token or a value.

use std::cell::{Cell, RefCell};

use crate::config::Log;
use crate::digest::Tag;
use crate::model::Millis;
use crate::shed::Pace;

/// What was decided about one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision<'a> {
    pub(super) request_id: &'a Tag,
    /// Name of the route; none when there was no route.
    pub(super) route: Option<&'a str>,
    /// `admitted`, `replay`, or the problem's code.
    pub(super) verdict: &'a str,
    pub(super) status: u16,
    /// Whether it passed, or was answered from an earlier passing.
    pub(super) passed: bool,
    pub(super) took: Millis,
}

/// Decides what is written.
#[derive(Debug)]
pub(super) struct Journal {
    one_in: u64,
    passed: Cell<u64>,
    refusals: RefCell<Pace>,
    left_out: Cell<u64>,
}

impl Journal {
    pub(super) fn new(log: &Log) -> Self {
        Self {
            one_in: log.passed_one_in,
            passed: Cell::new(0),
            refusals: RefCell::new(Pace::new(Some(log.refusals))),
            left_out: Cell::new(0),
        }
    }

    /// The line to write, if one is to be written.
    pub(super) fn line(&self, decision: &Decision<'_>, now: Millis) -> Option<String> {
        if decision.passed {
            let nth = self.passed.get();
            self.passed.set(nth.wrapping_add(1));
            if self.one_in == 0 || !nth.is_multiple_of(self.one_in) {
                return None;
            }
        } else if self.refusals.borrow_mut().take(now).is_err() {
            self.left_out.set(self.left_out.get().saturating_add(1));
            return None;
        }
        let line = serde_json::json!({
            "event": "decision",
            "request_id": decision.request_id.as_str(),
            "route": decision.route,
            "verdict": decision.verdict,
            "status": decision.status,
            "took_ms": decision.took.0,
            // Refusals that were not written since the last one that was.
            "left_out": if decision.passed { 0 } else { self.left_out.replace(0) },
        });
        Some(line.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Quota;

    fn journal(one_in: u64) -> Journal {
        Journal::new(&Log { passed_one_in: one_in, refusals: Quota::parse(2, "2/s").unwrap() })
    }

    fn decision(id: &Tag, passed: bool) -> Decision<'_> {
        let (verdict, status) = if passed { ("admitted", 202) } else { ("too_many_requests", 429) };
        Decision { request_id: id, route: Some("order"), verdict, status, passed, took: Millis(3) }
    }

    #[test]
    fn what_passes_is_sampled() {
        let (journal, id) = (journal(10), Tag::of(&[]));
        let written = (0..100).filter_map(|_| journal.line(&decision(&id, true), Millis(0))).count();
        assert_eq!(written, 10);
        assert_eq!(self::journal(0).line(&decision(&id, true), Millis(0)), None);
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
