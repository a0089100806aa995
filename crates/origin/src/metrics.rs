//! Counters, in Prometheus' text form.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Outcomes of an order request, as the `outcome` label says them.
const OUTCOMES: [&str; 12] = [
    "accepted",
    "same",
    "already_bought",
    "sold_out",
    "not_preheated",
    "paused",
    "not_started",
    "ended",
    "too_late",
    "rolled_back",
    "over_quota",
    "unknown",
];

/// What became of payment callbacks, as the `result` label says it.
const PAYMENTS: [&str; 12] = [
    "applied",
    "refund_due",
    "failed",
    "known",
    "conflict",
    "mismatch",
    "no_order",
    "unsigned",
    "forged",
    "stale",
    "unreadable",
    "away",
];

/// What this process has done.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    outcomes: [AtomicU64; OUTCOMES.len()],
    settled: AtomicU64,
    duplicates: AtomicU64,
    failed: AtomicU64,
    dead: AtomicU64,
    restored: AtomicU64,
    batches: AtomicU64,
    retries: AtomicU64,
    cancelled: AtomicU64,
    timed_out: AtomicU64,
    events: AtomicU64,
    mismatched: AtomicU64,
    ledger_breaks: AtomicU64,
    payments: [AtomicU64; PAYMENTS.len()],
}

impl Metrics {
    /// An order request was answered.
    pub(crate) fn outcome(&self, name: &str) {
        let counter = OUTCOMES.iter().zip(&self.outcomes).find(|(known, _)| **known == name);
        if let Some((_, counter)) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A batch was committed.
    pub(crate) fn batch(&self, settled: usize, duplicates: usize, failed: usize) {
        let add = |counter: &AtomicU64, n: usize| counter.fetch_add(n as u64, Ordering::Relaxed);
        add(&self.batches, 1);
        add(&self.settled, settled);
        add(&self.duplicates, duplicates);
        add(&self.failed, failed);
    }

    /// SQL did not take a batch, which waits.
    pub(crate) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// An entry was given up.
    pub(crate) fn dead(&self) {
        self.dead.fetch_add(1, Ordering::Relaxed);
    }

    /// Stock was given back.
    pub(crate) fn restored(&self) {
        self.restored.fetch_add(1, Ordering::Relaxed);
    }

    /// A buyer cancelled an order.
    pub(crate) fn cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    /// An order was not paid in time.
    pub(crate) fn timed_out(&self) {
        self.timed_out.fetch_add(1, Ordering::Relaxed);
    }

    /// An event was delivered.
    pub(crate) fn event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// The books were compared.
    pub(crate) fn reconciled(&self, mismatched: usize, ledger_breaks: usize) {
        self.mismatched.store(mismatched as u64, Ordering::Relaxed);
        self.ledger_breaks.store(ledger_breaks as u64, Ordering::Relaxed);
    }

    /// A payment callback was answered.
    pub(crate) fn payment(&self, result: &str) {
        let counter = PAYMENTS.iter().zip(&self.payments).find(|(known, _)| **known == result);
        if let Some((_, counter)) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All of them.
    pub(crate) fn text(&self) -> String {
        let mut out = String::from("# TYPE sluice_origin_orders_total counter\n");
        for (name, counter) in OUTCOMES.iter().zip(&self.outcomes) {
            let n = counter.load(Ordering::Relaxed);
            let _ = writeln!(out, "sluice_origin_orders_total{{outcome=\"{name}\"}} {n}");
        }
        out.push_str("# TYPE sluice_origin_payments_total counter\n");
        for (name, counter) in PAYMENTS.iter().zip(&self.payments) {
            let n = counter.load(Ordering::Relaxed);
            let _ = writeln!(out, "sluice_origin_payments_total{{result=\"{name}\"}} {n}");
        }
        for (name, counter) in [
            ("cancelled_orders", &self.cancelled),
            ("timed_out_orders", &self.timed_out),
            ("delivered_events", &self.events),
            ("settled_orders", &self.settled),
            ("settled_batches", &self.batches),
            ("settle_retries", &self.retries),
            ("duplicate_orders", &self.duplicates),
            ("failed_orders", &self.failed),
            ("dead_letters", &self.dead),
            ("restored_orders", &self.restored),
        ] {
            let n = counter.load(Ordering::Relaxed);
            let _ = writeln!(out, "# TYPE sluice_origin_{name}_total counter\nsluice_origin_{name}_total {n}");
        }
        for (name, gauge) in [("mismatched_sales", &self.mismatched), ("ledger_breaks", &self.ledger_breaks)] {
            let n = gauge.load(Ordering::Relaxed);
            let _ = writeln!(out, "# TYPE sluice_origin_{name} gauge\nsluice_origin_{name} {n}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_told() {
        let metrics = Metrics::default();
        metrics.outcome("accepted");
        metrics.outcome("no such outcome");
        metrics.batch(3, 0, 1);
        let text = metrics.text();
        assert!(text.contains("sluice_origin_orders_total{outcome=\"accepted\"} 1\n"), "{text}");
        assert!(text.contains("sluice_origin_settled_orders_total 3\n"), "{text}");
    }
}
