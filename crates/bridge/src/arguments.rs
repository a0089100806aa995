//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};

use sluice_bridge::config::{DEFAULT_BODY_LIMIT, TlsFiles};
use sluice_bridge::{Config, ConfigError};

/// Speaks the Upstash Redis REST protocol in front of a Redis of your own.
///
/// Any client for Upstash can then use that Redis:
///
///   sluice-bridge --redis redis://127.0.0.1:6379 --token SECRET
///   curl -H 'Authorization: Bearer SECRET' -d '["SET","greeting","hello"]' http://127.0.0.1:8790/
///
/// Every option can also be given by the environment variable that stands next to it. Redis need not be up when
/// the bridge starts: requests are answered with 503 until it is. GET /healthz answers 200 without a token, GET
/// /metrics takes any token. The bridge speaks plain HTTP: put a TLS proxy in front of it before it leaves the machine.
#[derive(Parser)]
#[command(name = "sluice-bridge", version, verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// Where to listen
    #[arg(long, env = "SLUICE_BRIDGE_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:8790")]
    pub(crate) listen: String,

    /// The Redis to use: redis://[user:password@]host:port[/db], unix:///path/to/socket,
    /// redis+sentinel://host:port,host:port/name[/db] or redis+cluster://host:port,host:port; rediss… for TLS
    #[arg(long, env = "SLUICE_BRIDGE_REDIS", value_name = "URL", hide_env_values = true)]
    #[arg(default_value = "redis://127.0.0.1:6379")]
    redis: String,

    /// The token clients must send, as "Authorization: Bearer TOKEN" or "?_token=TOKEN". On a command line other
    /// users of the machine can see it: prefer the environment
    #[arg(long, env = "SLUICE_BRIDGE_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// Another token, which may only read
    #[arg(long, env = "SLUICE_BRIDGE_READ_ONLY_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    read_only_token: Option<String>,

    /// A TOML file of several databases and tokens, instead of --redis and --token
    #[arg(long, env = "SLUICE_BRIDGE_DATABASES_FILE", value_name = "FILE")]
    databases_file: Option<PathBuf>,

    /// The text of such a file; the environment is the place for it
    #[arg(long, env = "SLUICE_BRIDGE_DATABASES", value_name = "TOML", hide_env_values = true)]
    #[arg(conflicts_with = "databases_file")]
    databases: Option<String>,

    /// Who signed Redis' certificate (PEM), for rediss://; the system's trusted roots if not given
    #[arg(long, env = "SLUICE_BRIDGE_REDIS_CA", value_name = "FILE")]
    redis_ca: Option<PathBuf>,

    /// The bridge's own certificate (PEM), if Redis asks for one
    #[arg(long, env = "SLUICE_BRIDGE_REDIS_CERT", value_name = "FILE", requires = "redis_key")]
    redis_cert: Option<PathBuf>,

    /// The key of that certificate (PEM)
    #[arg(long, env = "SLUICE_BRIDGE_REDIS_KEY", value_name = "FILE", requires = "redis_cert")]
    redis_key: Option<PathBuf>,

    /// Refuse scripts that touch keys which they are not given in KEYS, and name the key
    #[arg(long, env = "SLUICE_BRIDGE_CHECK_KEYS")]
    check_keys: bool,

    /// How long one attempt to reach Redis may take
    #[arg(long, env = "SLUICE_BRIDGE_CONNECT_TIMEOUT_MS", value_name = "MS", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    connect_timeout_ms: u64,

    /// How long a request waits for Redis' reply
    #[arg(long, env = "SLUICE_BRIDGE_COMMAND_TIMEOUT_MS", value_name = "MS", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    command_timeout_ms: u64,

    /// How long a client may take to send its headers, and may keep a connection without asking anything
    #[arg(long, env = "SLUICE_BRIDGE_HEADER_TIMEOUT_MS", value_name = "MS", default_value_t = 60_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    header_timeout_ms: u64,

    /// How long a client may take to send its body, and may leave an answer unread
    #[arg(long, env = "SLUICE_BRIDGE_BODY_TIMEOUT_MS", value_name = "MS", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    body_timeout_ms: u64,

    /// The largest request body
    #[arg(long, env = "SLUICE_BRIDGE_MAX_BODY_BYTES", value_name = "BYTES", default_value_t = DEFAULT_BODY_LIMIT)]
    max_body_bytes: usize,

    /// The most commands in a pipeline or transaction
    #[arg(long, env = "SLUICE_BRIDGE_MAX_COMMANDS", value_name = "COUNT", default_value_t = 10_000)]
    max_commands: usize,

    /// The most requests that wait for Redis at one time; more get 503 at once
    #[arg(long, env = "SLUICE_BRIDGE_MAX_REQUESTS", value_name = "COUNT", default_value_t = 4_096)]
    max_requests: usize,

    /// The most clients that may be connected; more get 503 at once
    #[arg(long, env = "SLUICE_BRIDGE_MAX_CONNECTIONS", value_name = "COUNT", default_value_t = 16_384)]
    max_connections: usize,

    /// The most streams (SUBSCRIBE, PSUBSCRIBE, MONITOR), each with a connection to Redis; more get 503 at once
    #[arg(long, env = "SLUICE_BRIDGE_MAX_STREAMS", value_name = "COUNT", default_value_t = 1_000)]
    max_streams: usize,

    /// How to write the log, which goes to standard error; RUST_LOG=debug says more. Never holds tokens or values
    #[arg(long, env = "SLUICE_BRIDGE_LOG", value_enum, default_value = "text")]
    pub(crate) log: Log,
}

/// Forms of the log.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Log {
    Text,
    Json,
}

impl Arguments {
    /// The configuration that they come to.
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = self.databases()?;
        if let Some(token) = &self.read_only_token {
            config.add_read_only(token)?;
        }
        config.check_keys = self.check_keys;
        config.connect_timeout = Duration::from_millis(self.connect_timeout_ms);
        config.command_timeout = Duration::from_millis(self.command_timeout_ms);
        config.header_timeout = Duration::from_millis(self.header_timeout_ms);
        config.body_timeout = Duration::from_millis(self.body_timeout_ms);
        config.body_limit = self.max_body_bytes;
        config.commands_limit = self.max_commands;
        config.requests_limit = self.max_requests;
        config.connections_limit = self.max_connections;
        config.streams_limit = self.max_streams;
        Ok(config)
    }

    fn databases(&self) -> Result<Config> {
        let text = match (&self.databases, &self.databases_file) {
            (Some(text), _) => text.clone(),
            (None, Some(path)) => {
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
            }
            (None, None) => return Ok(self.one_database()?),
        };
        if self.token.is_some() {
            bail!("--token stands for one database; with several, tokens are named in their file");
        }
        Ok(Config::from_toml(&text)?)
    }

    fn one_database(&self) -> Result<Config, ConfigError> {
        let files = TlsFiles { ca: self.redis_ca.clone(), cert: self.redis_cert.clone(), key: self.redis_key.clone() };
        match &self.token {
            Some(token) => Config::with_tls(&self.redis, token, &files),
            None => Err(ConfigError::MissingToken),
        }
    }
}
