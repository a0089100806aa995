//! What the bridge needs to know before it starts.

use std::fmt;
use std::time::Duration;

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::auth::Token;

/// The largest request body by default: what Upstash takes.
pub const DEFAULT_BODY_LIMIT: usize = 10 * 1024 * 1024;

/// Settings of one bridge, checked. `Debug` shows neither the token nor the password of Redis.
#[derive(Clone)]
pub struct Config {
    pub(crate) redis: ConnectionInfo,
    pub(crate) token: Token,
    /// How long one attempt to reach Redis may take, handshake included.
    pub connect_timeout: Duration,
    /// How long a client's request waits for Redis' replies.
    pub command_timeout: Duration,
    /// The largest request body in bytes.
    pub body_limit: usize,
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address of Redis cannot be read. The address itself is not shown: it may hold a password.
    #[error("the address of Redis is not understood ({0}): write redis://host:port/db or unix:///path")]
    Redis(String),
    /// The address asks for TLS, which this build does not speak.
    #[error("TLS towards Redis (rediss://) is not supported yet: use redis:// or unix://")]
    Tls,
    /// An empty token would let everybody in.
    #[error("the token is empty: it is what clients must send")]
    EmptyToken,
}

impl Config {
    /// Checks the address of Redis and the token; everything else starts with its default.
    pub fn new(redis: &str, token: &str) -> Result<Self, ConfigError> {
        if redis.starts_with("rediss:") {
            return Err(ConfigError::Tls);
        }
        let redis = redis.into_connection_info().map_err(|error| ConfigError::Redis(error.category().to_owned()))?;
        Ok(Self {
            redis,
            token: Token::new(token).ok_or(ConfigError::EmptyToken)?,
            connect_timeout: Duration::from_secs(1),
            command_timeout: Duration::from_secs(2),
            body_limit: DEFAULT_BODY_LIMIT,
        })
    }

    /// Where Redis is expected, without user and password.
    pub fn redis_address(&self) -> String {
        self.redis.addr().to_string()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("redis", &self.redis_address())
            .field("token", &self.token)
            .field("connect_timeout", &self.connect_timeout)
            .field("command_timeout", &self.command_timeout)
            .field("body_limit", &self.body_limit)
            .finish()
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
        assert!(text("rediss://127.0.0.1", "t").contains("TLS"));
        let odd = text("http://user:hunter2@host", "t");
        assert!(odd.contains("not understood") && !odd.contains("hunter2"), "{odd}");
    }
}
