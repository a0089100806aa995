//! What the bridge needs to know before it starts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::Token;
use crate::policy::Access;

mod file;
mod target;
mod tls;

pub(crate) use target::Login;
pub use target::{Address, Kind, Target};
pub use tls::TlsFiles;

/// The largest request body by default: what Upstash takes.
pub const DEFAULT_BODY_LIMIT: usize = 10 * 1024 * 1024;

/// Settings of one bridge, checked. `Debug` shows neither tokens nor the passwords of Redis.
#[derive(Clone)]
pub struct Config {
    pub(crate) databases: Vec<Database>,
    /// How long one attempt to reach Redis may take, handshake included.
    pub connect_timeout: Duration,
    /// How long a client's request waits for Redis' replies.
    pub command_timeout: Duration,
    /// How long a client may take to send its headers; a connection without a request is closed after it.
    pub header_timeout: Duration,
    /// How long a client may take to send its body, and may leave an answer unread.
    pub body_timeout: Duration,
    /// The largest request body in bytes.
    pub body_limit: usize,
    /// The most commands in a pipeline or transaction.
    pub commands_limit: usize,
    /// The most requests that wait for Redis at one time; more get 503.
    pub requests_limit: usize,
    /// The most clients that may be connected; more get 503 and are closed.
    pub connections_limit: usize,
    /// The most server-sent event streams, each of which has a connection to Redis; more get 503.
    pub streams_limit: usize,
    /// Whether scripts may touch only the keys that they are given in KEYS.
    pub check_keys: bool,
}

/// One Redis and the tokens that open it.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) grants: Vec<Grant>,
}

/// A token and what it may do.
#[derive(Clone)]
pub(crate) struct Grant {
    pub(crate) token: Token,
    pub(crate) access: Arc<Access>,
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address of Redis cannot be read. The address itself is not shown: it may hold a password.
    #[error(
        "the address of Redis is not understood ({0}): write redis://host:port/db, rediss:// for TLS, \
         redis+sentinel://host:port,host:port/name, redis+cluster://host:port,host:port or unix:///path"
    )]
    Redis(&'static str),
    /// Certificates or keys cannot be read or do not fit.
    #[error("TLS towards Redis: {0}")]
    Tls(String),
    /// An empty token would let everybody in.
    #[error("the token is empty: it is what clients must send")]
    EmptyToken,
    /// Without a token nobody could ask.
    #[error("no token: give --token or SLUICE_BRIDGE_TOKEN, or databases with tokens of their own")]
    MissingToken,
    /// Two grants with one token.
    #[error("database {0}: a token is given twice; each opens one database")]
    SameToken(String),
    /// A database that nobody can open.
    #[error("database {0} has no token")]
    NoToken(String),
    /// The file of databases and tokens cannot be read. The text of the file is not shown.
    #[error("the databases are not understood: {0}")]
    File(String),
}

impl Config {
    /// One database, one token that may do everything; everything else starts with its default.
    pub fn new(redis: &str, token: &str) -> Result<Self, ConfigError> {
        Self::with_tls(redis, token, &TlsFiles::default())
    }

    /// The same with certificates of one's own for `rediss://`.
    pub fn with_tls(redis: &str, token: &str, files: &TlsFiles) -> Result<Self, ConfigError> {
        let mut database =
            Database { name: "default".to_owned(), target: Target::parse(redis, files)?, grants: Vec::new() };
        database.grant(token, Access::full())?;
        Ok(Self::of(vec![database]))
    }

    /// Several databases and tokens, as `docs/bridge.md` describes the file.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        file::read(text).map(Self::of)
    }

    /// Adds a token that may only read to the first database.
    pub fn add_read_only(&mut self, token: &str) -> Result<(), ConfigError> {
        match self.databases.first_mut() {
            Some(database) => database.grant(token, Access::read_only())?,
            None => return Ok(()),
        }
        self.distinct()
    }

    fn of(databases: Vec<Database>) -> Self {
        Self {
            databases,
            connect_timeout: Duration::from_secs(1),
            command_timeout: Duration::from_secs(2),
            header_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            body_limit: DEFAULT_BODY_LIMIT,
            commands_limit: 10_000,
            requests_limit: 4_096,
            connections_limit: 16_384,
            streams_limit: 1_000,
            check_keys: false,
        }
    }

    fn distinct(&self) -> Result<(), ConfigError> {
        file::distinct(&self.databases)
    }

    /// Where Redis is expected, without users and passwords.
    pub fn redis_address(&self) -> String {
        self.databases.iter().map(|database| database.target.to_string()).collect::<Vec<_>>().join(", ")
    }
}

impl Database {
    fn grant(&mut self, token: &str, access: Access) -> Result<(), ConfigError> {
        let token = Token::new(token).ok_or(ConfigError::EmptyToken)?;
        self.grants.push(Grant { token, access: Arc::new(access) });
        Ok(())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("redis", &self.redis_address())
            .field("connect_timeout", &self.connect_timeout)
            .field("command_timeout", &self.command_timeout)
            .field("body_limit", &self.body_limit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_show_in_debug() {
        let config = Config::new("redis://user:hunter2@127.0.0.1:6390/0", "s3cret").unwrap();
        let shown = format!("{config:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("127.0.0.1:6390"), "{shown}");
    }

    #[test]
    fn mistakes_are_named_without_the_address() {
        let text = |redis, token| Config::new(redis, token).unwrap_err().to_string();
        assert!(text("redis://127.0.0.1", "").contains("token is empty"));
        let odd = text("http://user:hunter2@host", "t");
        assert!(odd.contains("not understood") && !odd.contains("hunter2"), "{odd}");
    }

    #[test]
    fn a_token_opens_one_thing() {
        let mut config = Config::new("redis://127.0.0.1", "a").unwrap();
        config.add_read_only("b").unwrap();
        assert!(matches!(config.add_read_only("a"), Err(ConfigError::SameToken(_))));
    }
}
