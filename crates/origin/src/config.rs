//! What the origin is told at its start.

use std::fmt;
use std::time::Duration;

use sluice::model::Millis;
use sluice::script::keys::Keyspace;

use crate::clock::Clock;
pub use crate::domain::bearer::Tokens;
pub use crate::domain::payment::Secrets;

/// Settings of one origin process. [`Config::new`] has the defaults.
#[derive(Clone)]
pub struct Config {
    /// Redis, as a URL: `redis://…`, or `redis+cluster://host:port,host:port` for a cluster.
    pub redis: String,
    /// SQL, as a URL.
    pub database: String,
    /// Secrets of the assertions, comma-separated; all verify.
    pub assertion_secrets: String,
    /// Prefix and partitions of the keys; must be the edge's.
    pub keyspace: Keyspace,
    /// This process's name in the consumer groups. Stable across restarts, so that it finds its own pending entries
    /// at once, and shared with no other process.
    pub consumer: String,
    /// Whether claims are in this Redis. If not, the edge finishes them itself.
    pub shares_claims: bool,
    /// How long an operation is remembered in Redis.
    pub retention: Millis,
    /// How long Redis answers for an order once SQL does.
    pub order_ttl: Millis,
    /// Most entries in one SQL transaction.
    pub batch: usize,
    /// Entries idle for longer are taken over from their consumer: longer than any batch can take.
    pub take_over_after: Duration,
    /// How often entries of others are looked for, and the stream is trimmed.
    pub tend_every: Duration,
    /// How often the outbox, and sales that are to be preheated, are looked at.
    pub poll_every: Duration,
    /// How often SQL is swept for orders that were not paid in time.
    pub sweep_every: Duration,
    /// How often Redis and SQL are compared.
    pub reconcile_every: Duration,
    /// After so long others take a job over from a process that has died: 20 ms to 24 h.
    pub job_ttl: Duration,
    /// How long a reader of the catalog waits for another who makes the same entry anew.
    pub catalog_wait: Duration,
    /// How long Redis may take to answer the catalog.
    pub catalog_answer: Duration,
    /// How often the catalog's filter of ids is made anew.
    pub filter_every: Duration,
    /// How long Redis remembers that a payment was recorded.
    pub marker_ttl: Millis,
    /// Who may tell of payments; without any, nobody.
    pub payment_secrets: Option<Secrets>,
    /// Whether an owner may have a payment simulated, for demonstrations.
    pub simulates_payments: bool,
    /// Who may use the operators' API; without any there is none.
    pub admin_tokens: Option<Tokens>,
    /// Where events about orders go, and the secrets by the first of which they are signed.
    pub webhook: Option<(String, Secrets)>,
    /// How long an answer about a sale is kept in this process.
    pub sale_ttl: Millis,
    /// The time.
    pub clock: Clock,
}

impl Config {
    /// The defaults around what has none.
    #[must_use]
    pub fn new(redis: &str, database: &str, assertion_secrets: &str) -> Self {
        Self {
            redis: redis.to_owned(),
            database: database.to_owned(),
            assertion_secrets: assertion_secrets.to_owned(),
            keyspace: Keyspace::default(),
            consumer: "origin".to_owned(),
            shares_claims: true,
            retention: Millis::from_secs(24 * 3600),
            order_ttl: Millis::from_secs(24 * 3600),
            batch: 500,
            take_over_after: Duration::from_secs(60),
            tend_every: Duration::from_secs(5),
            poll_every: Duration::from_secs(1),
            sweep_every: Duration::from_secs(60),
            reconcile_every: Duration::from_secs(300),
            job_ttl: Duration::from_secs(10),
            catalog_wait: Duration::from_millis(500),
            catalog_answer: Duration::from_millis(300),
            filter_every: Duration::from_secs(300),
            marker_ttl: Millis::from_secs(7 * 24 * 3600),
            payment_secrets: None,
            simulates_payments: false,
            admin_tokens: None,
            webhook: None,
            sale_ttl: Millis(200),
            clock: Clock::system(),
        }
    }
}

/// Without the URLs and secrets, which hold passwords.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("keyspace", &self.keyspace)
            .field("consumer", &self.consumer)
            .field("shares_claims", &self.shares_claims)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}
