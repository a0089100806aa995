//! `sluice-origin serve`.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use sluice::model::Millis;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::Stores;
use super::when;
use crate::config::{Secrets, Tokens};
use crate::{Listeners, build, run};

/// Arguments of `serve`.
#[derive(Args)]
pub(super) struct Serve {
    #[command(flatten)]
    stores: Stores,
    /// Where the edge reaches it.
    #[arg(long, env = "ORIGIN_LISTEN", default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// Where operators reach it; elsewhere than on the loopback it needs --admin-token.
    #[arg(long, env = "ORIGIN_ADMIN_LISTEN")]
    admin_listen: Option<SocketAddr>,
    /// Secrets of the assertions, comma-separated; all verify.
    #[arg(long, env = "ASSERTION_SECRET", hide_env_values = true)]
    assertion_secret: String,
    /// This process's name in the consumer groups: the same after a restart, and no other process's.
    /// Left out, it is made of the host's name and the port.
    #[arg(long, env = "ORIGIN_CONSUMER")]
    consumer: Option<String>,
    /// Bearer tokens of the operators' API, comma-separated; all are good. Left out, there is no API.
    #[arg(long, env = "ORIGIN_ADMIN_TOKEN", hide_env_values = true, value_parser = tokens)]
    admin_token: Option<Tokens>,
    /// Secrets by which the payment gateway signs its callbacks, comma-separated; all verify. Left out, none is taken.
    #[arg(long, env = "PAYMENT_SECRET", hide_env_values = true, value_parser = secrets)]
    payment_secret: Option<Secrets>,
    /// For demonstrations only: the owner of an order may have its payment simulated.
    #[arg(long, env = "ORIGIN_SIMULATE_PAYMENTS", requires = "payment_secret")]
    simulate_payments: bool,
    /// Where events about orders are sent: `http://…`.
    #[arg(long, env = "WEBHOOK_URL", hide_env_values = true, requires = "webhook_secret", value_parser = webhook)]
    webhook: Option<String>,
    /// Secret by which they are signed.
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true, value_parser = secrets)]
    webhook_secret: Option<Secrets>,
    /// Entries that another origin has had in hand for longer are taken over from it: longer than any batch can take.
    #[arg(long, env = "ORIGIN_TAKE_OVER_AFTER", default_value = "1m", value_parser = when::span)]
    take_over_after: Millis,
    /// How often SQL is swept for orders that were not paid in time and that Redis has forgotten.
    #[arg(long, env = "ORIGIN_SWEEP_EVERY", default_value = "1m", value_parser = when::span)]
    sweep_every: Millis,
    /// After so long another origin takes over the jobs of one that has died: time-outs, outbox, events, reconciliation.
    #[arg(long, env = "ORIGIN_JOB_TTL", default_value = "10s", value_parser = when::span)]
    job_ttl: Millis,
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
        if let Some(address) = self.admin_listen.filter(|address| !address.ip().is_loopback()) {
            ensure!(self.admin_token.is_some(), "{address} is not on the loopback: --admin-token is needed");
        }
        let public = bind(self.listen).await?;
        let admin = match self.admin_listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let mut config = self.stores.config(&self.assertion_secret);
        config.admin_tokens = self.admin_token;
        config.payment_secrets = self.payment_secret;
        config.simulates_payments = self.simulate_payments;
        if config.simulates_payments {
            tracing::warn!("payments are simulated: whoever has an order can have it paid for nothing");
        }
        config.webhook = self.webhook.zip(self.webhook_secret);
        config.shares_claims = !self.separate_redis;
        config.take_over_after = Duration::from_millis(self.take_over_after.0);
        // Looked for often enough that nobody waits much longer than that.
        config.tend_every = config.tend_every.min(config.take_over_after);
        config.job_ttl = Duration::from_millis(self.job_ttl.0);
        config.sweep_every = Duration::from_millis(self.sweep_every.0);
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

fn tokens(list: &str) -> Result<Tokens, String> {
    Tokens::parse(list).map_err(str::to_owned)
}

fn webhook(url: &str) -> Result<String, String> {
    // The client has no TLS: a receiver elsewhere is reached through a proxy on this host.
    if url.starts_with("http://") { Ok(url.to_owned()) } else { Err("it begins with http://".to_owned()) }
}

fn secrets(list: &str) -> Result<Secrets, String> {
    Secrets::parse(list).map_err(str::to_owned)
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
