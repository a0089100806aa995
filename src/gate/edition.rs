//! One edition of the configuration. A request takes the one in force when it comes, and keeps it to its end.

use crate::config::{self, Limit};
use crate::digest;

/// A checked document with what is derived from it.
#[derive(Debug)]
pub(super) struct Edition {
    pub(super) config: config::Gate,
    /// One a limit: what isolates key their memory of its buckets by.
    limits: Vec<u64>,
}

impl Edition {
    pub(super) fn new(config: config::Gate) -> Self {
        let limits = config.limits.iter().map(limit_version).collect();
        Self { config, limits }
    }

    /// Which policy the limit at this position is: the same in every edition that has not changed it.
    pub(super) fn limit_version(&self, at: usize) -> u64 {
        self.limits.get(at).copied().unwrap_or_default()
    }
}

fn limit_version(limit: &Limit) -> u64 {
    let quota = limit.quota;
    let [a, b, c, d, e, f, g, h, ..] =
        digest::hash128(&[limit.name.as_bytes(), &quota.interval().0.to_be_bytes(), &quota.burst().to_be_bytes()]);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
