//! What the catalog has done, in Prometheus' text form.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// This process's fresh copy.
    Local,
    /// Redis.
    Redis,
    /// SQL, also where there is no such product.
    Sql,
    /// This process's old copy, for want of anything better.
    Stale,
}

/// What refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no id.
    Argument,
    /// The filter knows no such id.
    Filter,
    /// As many as may read SQL directly do so.
    Bound,
}

const LAYERS: [(Layer, &str); 4] =
    [(Layer::Local, "local"), (Layer::Redis, "redis"), (Layer::Sql, "sql"), (Layer::Stale, "stale")];
const REFUSALS: [(Refusal, &str); 3] =
    [(Refusal::Argument, "argument"), (Refusal::Filter, "filter"), (Refusal::Bound, "bound")];

/// Counters of one process.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    answers: [AtomicU64; LAYERS.len()],
    refusals: [AtomicU64; REFUSALS.len()],
    sql_reads: AtomicU64,
    rebuilds: AtomicU64,
    waits: AtomicU64,
}

impl Counts {
    /// A request was answered.
    pub(crate) fn answered(&self, layer: Layer) {
        let all = LAYERS.iter().zip(&self.answers).find(|((known, _), _)| *known == layer);
        all.map(|(_, counter)| counter.fetch_add(1, Ordering::Relaxed));
    }

    /// A request was refused.
    pub(crate) fn refused(&self, refusal: Refusal) {
        let all = REFUSALS.iter().zip(&self.refusals).find(|((known, _), _)| *known == refusal);
        all.map(|(_, counter)| counter.fetch_add(1, Ordering::Relaxed));
    }

    /// SQL was asked for one product.
    pub(crate) fn sql_read(&self) {
        self.sql_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// An entry of Redis was made anew, under its lock.
    pub(crate) fn rebuilt(&self) {
        self.rebuilds.fetch_add(1, Ordering::Relaxed);
    }

    /// A request waited for another that looks for the same product, here or elsewhere.
    pub(crate) fn waited(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them.
    pub(crate) fn text(&self) -> String {
        let mut out = String::from("# TYPE sluice_origin_catalog_answers_total counter\n");
        for ((_, name), counter) in LAYERS.iter().zip(&self.answers) {
            let n = counter.load(Ordering::Relaxed);
            let _ = writeln!(out, "sluice_origin_catalog_answers_total{{from=\"{name}\"}} {n}");
        }
        out.push_str("# TYPE sluice_origin_catalog_refused_total counter\n");
        for ((_, name), counter) in REFUSALS.iter().zip(&self.refusals) {
            let n = counter.load(Ordering::Relaxed);
            let _ = writeln!(out, "sluice_origin_catalog_refused_total{{by=\"{name}\"}} {n}");
        }
        for (name, counter) in [("sql_reads", &self.sql_reads), ("rebuilds", &self.rebuilds), ("waits", &self.waits)] {
            let n = counter.load(Ordering::Relaxed);
            let name = format!("sluice_origin_catalog_{name}_total");
            let _ = writeln!(out, "# TYPE {name} counter\n{name} {n}");
        }
        out
    }
}
