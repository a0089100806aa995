//! The highest `seq` of each partition that this process has seen: by it a Redis is recognised that has lost its tail.

use std::sync::atomic::{AtomicU64, Ordering};

use sluice::model::Partition;
use sluice::script::keys::Keyspace;

/// One counter a partition; they only grow.
pub(crate) struct Seqs(Vec<(String, AtomicU64)>);

impl Seqs {
    /// Nothing was seen yet.
    pub(crate) fn new(keys: &Keyspace) -> Self {
        Self(keys.partitions().map(|p| (keys.seq(p), AtomicU64::new(0))).collect())
    }

    /// All partitions.
    pub(super) fn partitions(&self) -> impl Iterator<Item = Partition> {
        (0..).map(Partition).take(self.0.len())
    }

    /// The highest that was seen.
    pub(crate) fn known(&self, p: Partition) -> u64 {
        self.of(p).map_or(0, |(_, seq)| seq.load(Ordering::Relaxed))
    }

    /// A `seq` was seen.
    pub(crate) fn saw(&self, p: Partition, seq: u64) {
        if let Some((_, known)) = self.of(p) {
            known.fetch_max(seq, Ordering::Relaxed);
        }
    }

    /// The command that reads a partition's `seq`; none for a partition that does not exist.
    pub(super) fn read(&self, p: Partition) -> Option<::redis::Cmd> {
        self.of(p).map(|(key, _)| {
            let mut get = ::redis::cmd("GET");
            get.arg(key);
            get
        })
    }

    /// What a connection's first look at a partition found. Each deduct compares by itself; this is the alarm.
    pub(super) fn compare(&self, p: Partition, found: Option<u64>) {
        let (seq, known) = (found.unwrap_or(0), self.known(p));
        self.saw(p, seq);
        if seq < known {
            tracing::error!(partition = p.0, seq, known, "Redis has lost deducts; its sales refuse until a recovery");
        }
    }

    fn of(&self, p: Partition) -> Option<&(String, AtomicU64)> {
        self.0.get(usize::from(p.0))
    }
}
