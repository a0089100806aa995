//! One Redis, as locks ask it: a command at a time, each with a deadline.

use crate::error::Fault;
use crate::script::Script;
use redis::aio::ConnectionLike;
use redis::{Cmd, FromRedisValue, RedisFuture, Value};
use std::sync::Arc;
use std::time::Duration;

/// What can run a command: every connection of the `redis` crate that can be cloned, and whatever a program puts
/// around one. A connection should restore itself (`ConnectionManager`): locks never reconnect.
pub trait Redis: Send + Sync + 'static {
    /// Runs one command.
    fn run<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value>;
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Redis for C {
    fn run<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let mut connection = self.clone();
        Box::pin(async move { command.query_async(&mut connection).await })
    }
}

/// A Redis, and how long it may take.
#[derive(Clone)]
pub(crate) struct Store {
    redis: Arc<dyn Redis>,
    timeout: Duration,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Store {
    pub(crate) fn new(redis: Arc<dyn Redis>, timeout: Duration) -> Self {
        Self { redis, timeout }
    }

    pub(crate) fn with_timeout(&self, timeout: Duration) -> Self {
        Self { redis: Arc::clone(&self.redis), timeout }
    }

    /// Runs a command.
    pub(crate) async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Fault> {
        self.within(self.redis.run(command)).await
    }

    /// Runs a script by its SHA1, and in full where Redis does not know it: NOSCRIPT says that nothing ran.
    pub(crate) async fn eval<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&str],
    ) -> Result<T, Fault> {
        self.within(async {
            let call = |name: &str, script: &str| {
                let mut call = redis::cmd(name);
                call.arg(script).arg(keys.len()).arg(keys).arg(arguments);
                call
            };
            match self.redis.run(&call("EVALSHA", script.sha1())).await {
                Err(error) if error.code() == Some("NOSCRIPT") => self.redis.run(&call("EVAL", script.source())).await,
                other => other,
            }
        })
        .await
    }

    async fn within<T: FromRedisValue>(
        &self,
        call: impl Future<Output = redis::RedisResult<Value>>,
    ) -> Result<T, Fault> {
        let reply = tokio::time::timeout(self.timeout, call).await.map_err(|_| Fault::TimedOut(self.timeout))??;
        redis::from_redis_value(reply).map_err(|_| Fault::Reply("a lock"))
    }
}
