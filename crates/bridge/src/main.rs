//! `sluice-bridge`: Upstash-compatible REST in front of a plain Redis.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use clap::Parser;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use tracing_subscriber::EnvFilter;

use arguments::{Arguments, Log};
use sluice_bridge::build;

mod arguments;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    start_log(arguments.log);
    let config = arguments.config()?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let listener =
        TcpListener::bind(&arguments.listen).await.with_context(|| format!("cannot listen on {}", arguments.listen))?;
    info!(listen = %listener.local_addr()?, redis = %config.redis_address(), "the bridge is open");
    build(config)
        .run(listener, async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            info!("closing: requests under way are finished");
        })
        .await?;
    info!("closed");
    Ok(())
}

fn start_log(log: Log) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let format = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log {
        Log::Text => format.with_ansi(std::io::stderr().is_terminal()).init(),
        Log::Json => format.json().init(),
    }
}
