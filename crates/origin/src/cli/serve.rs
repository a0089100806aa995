//! `sluice-origin serve`.

use std::net::SocketAddr;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::Stores;
use crate::{Listeners, build, run};

/// Arguments of `serve`.
#[derive(Args)]
pub(super) struct Serve {
    #[command(flatten)]
    stores: Stores,
    /// Where the edge reaches it.
    #[arg(long, env = "ORIGIN_LISTEN", default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// Where operators reach it; keep it on the loopback.
    #[arg(long, env = "ORIGIN_ADMIN_LISTEN")]
    admin_listen: Option<SocketAddr>,
    /// Secrets of the assertions, comma-separated; all verify.
    #[arg(long, env = "ASSERTION_SECRET", hide_env_values = true)]
    assertion_secret: String,
    /// This process's name in the consumer groups: the same after a restart, and no other process's.
    /// Left out, it is made of the host's name and the port.
    #[arg(long, env = "ORIGIN_CONSUMER")]
    consumer: Option<String>,
    /// The edge has a Redis of its own, so it finishes claims itself.
    #[arg(long, env = "ORIGIN_SEPARATE_REDIS")]
    separate_redis: bool,
}

impl std::fmt::Debug for Serve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serve").field("stores", &self.stores).field("listen", &self.listen).finish_non_exhaustive()
    }
}

impl Serve {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        // Taken first: a signal during the start must not be missed.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let public = bind(self.listen).await?;
        let admin = match self.admin_listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let mut config = self.stores.config(&self.assertion_secret);
        config.shares_claims = !self.separate_redis;
        config.consumer = self.consumer.unwrap_or_else(|| consumer(public.local_addr().unwrap_or(self.listen)));
        let origin = build(config).await?;
        tracing::info!(listen = %public.local_addr()?, "the origin serves");
        let shutdown = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("shutting down");
        };
        run(origin, Listeners { public, admin }, shutdown).await
    }
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// No two processes of a host share a port, and no two hosts a name.
fn consumer(listen: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "origin" } else { host.trim() };
    format!("{host}:{}", listen.port())
}
