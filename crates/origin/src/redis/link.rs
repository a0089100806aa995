//! The connection to Redis. It is shared by all requests and pipelined; when it breaks it is given up, and a new one
//! is checked before anything is sent over it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::redis::aio::{ConnectionLike, MultiplexedConnection};
use ::redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisError};
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use sluice::script::{Arg, Script, Value, deduct, preheat, restore, settled};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{RedisFault, value};

const CONNECT: Duration = Duration::from_secs(3);
const COMMAND: Duration = Duration::from_secs(2);
/// After a failed attempt to connect, others fail at once for so long.
const REST: Duration = Duration::from_millis(200);

/// The connection, and the highest `seq` of each partition that this process has seen.
pub(crate) struct Link {
    client: Client,
    state: Mutex<State>,
    seqs: Vec<(String, AtomicU64)>,
}

#[derive(Default)]
struct State {
    current: Option<MultiplexedConnection>,
    /// Counts connections, so that only the one that failed is given up.
    generation: u64,
    rest_until: Option<Instant>,
}

impl Link {
    /// Opens nothing yet.
    pub(crate) fn new(url: &str, keys: &Keyspace) -> Result<Self, RedisError> {
        let seqs = keys.partitions().map(|p| (keys.seq(p), AtomicU64::new(0))).collect();
        Ok(Self { client: Client::open(url)?, state: Mutex::default(), seqs })
    }

    /// The highest `seq` that this process has seen in a partition.
    pub(crate) fn known_seq(&self, partition: Partition) -> u64 {
        self.seqs.get(usize::from(partition.0)).map_or(0, |(_, seq)| seq.load(Ordering::Relaxed))
    }

    /// A `seq` was seen.
    pub(crate) fn saw_seq(&self, partition: Partition, seq: u64) {
        if let Some((_, known)) = self.seqs.get(usize::from(partition.0)) {
            known.fetch_max(seq, Ordering::Relaxed);
        }
    }

    /// Runs a script: by its SHA1, and in full once where Redis does not know it.
    pub(crate) async fn eval(&self, script: &Script, keys: &[String], args: &[Arg<'_>]) -> Result<Value, RedisFault> {
        let (mut connection, generation) = self.connection().await?;
        let result = eval(&mut connection, script, keys, args).await;
        self.judge(result, generation).await.and_then(|reply| Ok(value(reply)?))
    }

    /// Runs a command.
    pub(crate) async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisFault> {
        let (mut connection, generation) = self.connection().await?;
        let result = command.query_async(&mut connection).await;
        self.judge(result, generation).await
    }

    /// Runs commands in one go.
    pub(crate) async fn pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, RedisFault> {
        let (mut connection, generation) = self.connection().await?;
        let result = pipeline.query_async(&mut connection).await;
        self.judge(result, generation).await
    }

    /// A connection of one's own, for commands that block.
    pub(crate) async fn own(&self) -> Result<MultiplexedConnection, RedisFault> {
        self.open().await.map_err(|error| RedisFault::Unsent(error.to_string()))
    }

    async fn connection(&self) -> Result<(MultiplexedConnection, u64), RedisFault> {
        let mut state = self.state.lock().await;
        if let Some(current) = &state.current {
            return Ok((current.clone(), state.generation));
        }
        if state.rest_until.is_some_and(|until| Instant::now() < until) {
            return Err(RedisFault::Unsent("the last attempt has just failed".to_owned()));
        }
        match self.open_checked().await {
            Ok(connection) => {
                state.current = Some(connection.clone());
                state.generation += 1;
                state.rest_until = None;
                Ok((connection, state.generation))
            }
            Err(error) => {
                state.rest_until = Some(Instant::now() + REST);
                Err(RedisFault::Unsent(error.to_string()))
            }
        }
    }

    async fn open(&self) -> Result<MultiplexedConnection, RedisError> {
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT)).set_response_timeout(Some(COMMAND));
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }

    /// Loads the scripts and compares `seq`: a Redis that has lost its tail is recognised before the first deduct,
    /// which each deduct then makes sure of by itself.
    async fn open_checked(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut connection = self.open().await?;
        let mut preload = ::redis::pipe();
        for script in
            [&*deduct::SCRIPT, &preheat::PREHEAT, &preheat::TERMS, &restore::SCRIPT, &settled::SETTLED, &settled::TRIM]
        {
            preload.cmd("SCRIPT").arg("LOAD").arg(script.source()).ignore();
        }
        preload.query_async::<()>(&mut connection).await?;
        for (key, known) in &self.seqs {
            let seq: Option<u64> = ::redis::cmd("GET").arg(key).query_async(&mut connection).await?;
            let before = known.fetch_max(seq.unwrap_or(0), Ordering::Relaxed);
            if seq.unwrap_or(0) < before {
                tracing::error!(key, seq, known = before, "Redis has lost deducts; its sales refuse until a recovery");
            }
        }
        Ok(connection)
    }

    /// Gives a connection up over which nothing more can be expected.
    async fn judge<T>(&self, result: Result<T, RedisError>, generation: u64) -> Result<T, RedisFault> {
        let error = match result {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        if !is_connection(&error) {
            return Err(RedisFault::Refused(error));
        }
        let mut state = self.state.lock().await;
        if state.generation == generation {
            state.current = None;
        }
        Err(RedisFault::Lost(error))
    }
}

/// Whether an error says that the connection is of no more use.
pub(crate) fn is_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || error.is_unrecoverable_error()
}

/// EVALSHA, then EVAL once where the script is not known: NOSCRIPT says that nothing was run.
pub(crate) async fn eval(
    connection: &mut (impl ConnectionLike + Send),
    script: &Script,
    keys: &[String],
    args: &[Arg<'_>],
) -> Result<::redis::Value, RedisError> {
    let call = |name: &str, script: &str| {
        let mut call = ::redis::cmd(name);
        call.arg(script).arg(keys.len()).arg(keys);
        for arg in args {
            match arg {
                Arg::Str(text) => call.arg(text),
                Arg::Int(number) => call.arg(number),
            };
        }
        call
    };
    match call("EVALSHA", script.sha1()).query_async(connection).await {
        Err(error) if error.code() == Some("NOSCRIPT") => call("EVAL", script.source()).query_async(connection).await,
        other => other,
    }
}
