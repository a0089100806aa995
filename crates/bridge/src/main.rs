//! `sluice-bridge`: Upstash-compatible REST in front of a plain Redis.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use tracing_subscriber::EnvFilter;

use sluice_bridge::{Config, build, config::DEFAULT_BODY_LIMIT};

/// Speaks the Upstash Redis REST protocol in front of a Redis of your own.
///
/// Any client for Upstash can then use that Redis:
///
///   sluice-bridge --redis redis://127.0.0.1:6379 --token SECRET
///   curl -H 'Authorization: Bearer SECRET' -d '["SET","greeting","hello"]' http://127.0.0.1:8790/
///
/// Every option can also be given by the environment variable that stands next to it. Redis need not be up when
/// the bridge starts: requests are answered with 503 until it is. GET /healthz answers 200 without a token.
/// The bridge speaks plain HTTP: put a TLS proxy in front of it before it leaves the machine.
#[derive(Parser)]
#[command(name = "sluice-bridge", version, verbatim_doc_comment)]
struct Arguments {
    /// Where to listen
    #[arg(long, env = "SLUICE_BRIDGE_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:8790")]
    listen: String,

    /// The Redis to use: redis://[user:password@]host:port[/db] or unix:///path/to/socket
    #[arg(
        long,
        env = "SLUICE_BRIDGE_REDIS",
        value_name = "URL",
        default_value = "redis://127.0.0.1:6379",
        hide_env_values = true
    )]
    redis: String,

    /// The token clients must send, as "Authorization: Bearer TOKEN" or "?_token=TOKEN". On a command line other
    /// users of the machine can see it: prefer the environment
    #[arg(long, env = "SLUICE_BRIDGE_TOKEN", hide_env_values = true)]
    token: String,

    /// How long one attempt to reach Redis may take
    #[arg(long, env = "SLUICE_BRIDGE_CONNECT_TIMEOUT_MS", value_name = "MS", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    connect_timeout_ms: u64,

    /// How long a request waits for Redis' reply
    #[arg(long, env = "SLUICE_BRIDGE_COMMAND_TIMEOUT_MS", value_name = "MS", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    command_timeout_ms: u64,

    /// The largest request body
    #[arg(long, env = "SLUICE_BRIDGE_MAX_BODY_BYTES", value_name = "BYTES", default_value_t = DEFAULT_BODY_LIMIT)]
    max_body_bytes: usize,

    /// How to write the log, which goes to standard error; RUST_LOG=debug says more. Never holds tokens or values
    #[arg(long, env = "SLUICE_BRIDGE_LOG", value_enum, default_value = "text")]
    log: Log,
}

#[derive(Clone, Copy, ValueEnum)]
enum Log {
    Text,
    Json,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    start_log(arguments.log);
    let mut config = Config::new(&arguments.redis, &arguments.token)?;
    config.connect_timeout = Duration::from_millis(arguments.connect_timeout_ms);
    config.command_timeout = Duration::from_millis(arguments.command_timeout_ms);
    config.body_limit = arguments.max_body_bytes;

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
