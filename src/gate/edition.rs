//! One edition of the configuration. A request takes the one in force when it comes, and keeps it to its end.

use crate::config::{self, Fault, Limit};
use crate::digest::{self, Tag};
use crate::identity::jwt::Checks;

/// A configuration that was read, and which one it is.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it says.
    pub gate: config::Gate,
    /// Hash of its text.
    pub version: Tag,
}

impl Document {
    /// Reads and checks a document in JSON.
    ///
    /// # Errors
    /// Every fault that was found.
    pub fn read(json: &str) -> Result<Self, Vec<Fault>> {
        Ok(Self { gate: config::Gate::from_json(json)?, version: Self::version_of(json) })
    }

    /// The version of a document with this text.
    #[must_use]
    pub fn version_of(json: &str) -> Tag {
        Tag::of(&[json.as_bytes()])
    }
}

/// A document in force, with what is derived from it.
#[derive(Debug)]
pub(super) struct Edition {
    pub(super) config: config::Gate,
    pub(super) version: Tag,
    /// What a user's JWT must be.
    pub(super) checks: Checks,
    /// One a limit: what isolates key their memory of its buckets by.
    limits: Vec<u64>,
}

impl Edition {
    pub(super) fn new(document: Document) -> Self {
        let limits = document.gate.limits.iter().map(limit_version).collect();
        let identity = &document.gate.identity;
        let checks = Checks::new(identity.algorithm, &identity.issuer, &identity.audience, identity.leeway);
        Self { config: document.gate, version: document.version, checks, limits }
    }

    /// Which policy the limit at this position is: the same in every edition that has not changed it.
    pub(super) fn limit_version(&self, at: usize) -> u64 {
        self.limits.get(at).copied().unwrap_or_default()
    }
}

fn limit_version(limit: &Limit) -> u64 {
    let (quota, key) = (limit.quota, format!("{:?}", limit.key));
    let numbers = [quota.interval().0, quota.burst().into(), limit.shards.get().into()].map(u64::to_be_bytes);
    let [interval, burst, shards] = numbers;
    let [a, b, c, d, e, f, g, h, ..] =
        digest::hash128(&[limit.name.as_bytes(), key.as_bytes(), &interval, &burst, &shards]);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
