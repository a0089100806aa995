//! `sluice-origin jwt revoke`: a user's JWT that is to be no good before its time.

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use sluice::model::Millis;
use sluice::script::keys::Keyspace;

use super::show::line;
use super::when::span;
use crate::redis::link::Link;

/// Arguments of `jwt`.
#[derive(Debug, Subcommand)]
pub(super) enum Jwt {
    /// Revokes one: the gate refuses it from its next call on, where `[identity] revocation` is on.
    Revoke(Revoke),
}

/// Arguments of `jwt revoke`.
#[derive(Args)]
pub(super) struct Revoke {
    /// Its `jti`.
    jti: String,
    /// For how long: as long as it could still be used, which its `exp` says.
    #[arg(long, value_parser = span)]
    r#for: Millis,
    /// Redis: `redis://[:password@]host:port[/db]`, or a cluster as `serve` takes it.
    #[arg(long, env = "REDIS_URL", hide_env_values = true)]
    redis: String,
    /// Over how many partitions sales are spread; as the edge has it.
    #[arg(long, env = "ORIGIN_PARTITIONS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    partitions: u16,
    /// Prefix of all keys; as the edge has it.
    #[arg(long, env = "ORIGIN_PREFIX", default_value = "sl1")]
    prefix: String,
}

/// The URL holds a password.
impl std::fmt::Debug for Revoke {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revoke")
            .field("partitions", &self.partitions)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Jwt {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::Revoke(revoke) = self;
        revoke.run().await
    }
}

impl Revoke {
    /// One mark a partition, each for as long. Marks are only ever added, so running it again is safe.
    async fn run(self) -> anyhow::Result<()> {
        ensure!(!self.jti.is_empty(), "the jti is empty: that would be no JWT's");
        let keys = Keyspace::new(&self.prefix, self.partitions);
        let link = Link::new(&self.redis, &keys).context("the Redis URL is no good")?;
        for p in keys.partitions() {
            let mut mark = ::redis::cmd("SET");
            mark.arg(keys.revoked(p, &self.jti)).arg(1).arg("PX").arg(self.r#for.0);
            link.command::<()>(p, &mark).await.with_context(|| {
                format!("partition {} was not marked; run it again, until it succeeds the JWT may pass there", p.0)
            })?;
        }
        line("revoked; an isolate may still repeat an answer that it remembers for as long as `snapshot_ms`")
    }
}
