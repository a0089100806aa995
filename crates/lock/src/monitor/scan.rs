//! Looks through the keys of locks for those without a TTL, a bounded number at a time.

use super::Monitor;
use crate::error::Fault;
use crate::store::Store;
use futures_util::future::try_join_all;
use std::collections::BTreeSet;

/// Keys that one SCAN looks at.
const COUNT: usize = 100;
/// Names that are kept; beyond, it is known only that there are more.
const KEPT: usize = 1_000;

/// A walk through all keys, which goes on where the last step ended. Made by [`Locks::scan`](crate::Locks::scan).
///
/// Every lock of this crate gets its TTL in the command that takes it. One without was written by something else, or
/// by hand (`PERSIST`), and is held for ever. It walks one server; for a cluster, make one for each node.
#[derive(Debug)]
pub struct Scan {
    store: Store,
    pattern: String,
    monitor: Option<Monitor>,
    cursor: u64,
    found: BTreeSet<String>,
}

/// What a step found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// Keys of locks without a TTL, those of this walk so far; at most 1,000.
    pub without_ttl: Vec<String>,
    /// Whether every key was looked at; the next step begins anew.
    pub finished: bool,
}

impl Scan {
    pub(crate) fn new(store: Store, pattern: String, monitor: Option<Monitor>) -> Self {
        Self { store, pattern, monitor, cursor: 0, found: BTreeSet::new() }
    }

    /// Has Redis look at about `keys` keys more, 100 a command. The metric is set when the walk is finished.
    ///
    /// # Errors
    /// When Redis fails; the walk goes on from there.
    pub async fn step(&mut self, keys: usize) -> Result<Scanned, Fault> {
        for _ in 0..keys.div_ceil(COUNT).max(1) {
            let mut scan = redis::cmd("SCAN");
            scan.arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(COUNT);
            let (cursor, names): (u64, Vec<Vec<u8>>) = self.store.command(&scan).await?;
            let ttls = try_join_all(names.iter().map(|name| self.ttl(name))).await?;
            for (name, _) in names.iter().zip(ttls).filter(|(_, ttl)| *ttl == -1) {
                if self.found.len() < KEPT {
                    self.found.insert(String::from_utf8_lossy(name).into_owned());
                }
            }
            self.cursor = cursor;
            if cursor == 0 {
                return Ok(self.finish());
            }
        }
        Ok(Scanned { without_ttl: self.found.iter().cloned().collect(), finished: false })
    }

    /// Milliseconds left; -1 without a TTL, -2 without a key.
    async fn ttl(&self, key: &[u8]) -> Result<i64, Fault> {
        let mut pttl = redis::cmd("PTTL");
        pttl.arg(key);
        self.store.command(&pttl).await
    }

    fn finish(&mut self) -> Scanned {
        let without_ttl: Vec<String> = std::mem::take(&mut self.found).into_iter().collect();
        if let Some(monitor) = &self.monitor {
            monitor.found_without_ttl(without_ttl.len());
        }
        for key in without_ttl.iter().take(20) {
            tracing::warn!(key, "a lock has no TTL: nothing will ever free it");
        }
        Scanned { without_ttl, finished: true }
    }
}
