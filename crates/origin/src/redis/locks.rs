//! Locks over the origin's own connection, which restores itself.

use std::sync::Arc;
use std::time::Duration;

use ::redis::{Cmd, ErrorKind, RedisError, RedisFuture, Value};
use anyhow::Context as _;
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use sluice_lock::{Locks, Monitor};

use super::RedisFault;
use super::link::Link;

/// How long Redis may take for a lock; then there are no locks.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The connection, as locks use it. All locks of one have the hash tag of a partition.
struct OnLink(Arc<Link>, Partition);

impl sluice_lock::Redis for OnLink {
    fn run<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move { self.0.command(self.1, command).await.map_err(error) })
    }
}

fn error(fault: RedisFault) -> RedisError {
    match fault {
        RedisFault::Lost(error) | RedisFault::Refused(error) => error,
        RedisFault::Unsent(_) | RedisFault::Reply(_) => {
            RedisError::from((ErrorKind::Io, "no command was sent", fault.to_string()))
        }
    }
}

/// Locks whose keys share the slot of a partition's.
pub(crate) fn locks(link: &Arc<Link>, keys: &Keyspace, p: Partition, monitor: &Monitor) -> anyhow::Result<Locks> {
    let locks = Locks::new(OnLink(Arc::clone(link), p), keys.prefix()).context("the prefix is none for locks")?;
    Ok(locks.with_timeout(TIMEOUT)?.with_tag(&format!("p{}", p.0))?.with_monitor(monitor))
}
