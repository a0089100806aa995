//! One Redis server. Its connection is shared by all requests and pipelined; when it breaks it is given up, and over a
//! new one nothing is sent of a partition before that partition's `seq` was compared.

use std::collections::HashSet;
use std::time::Duration;

use ::redis::aio::ConnectionLike as _;
use ::redis::{AsyncConnectionConfig, Client, FromRedisValue as _, Pipeline, RedisError, Value};
use sluice::model::Partition;
use sluice::script::{deduct, preheat, restore, settled};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::RedisFault;
use super::redirection::Redirection;
use super::seam::{self, Connection};
use super::seqs::Seqs;

/// How long a connection may take.
pub(super) const CONNECT: Duration = Duration::from_secs(3);
const COMMAND: Duration = Duration::from_secs(2);
/// After a failed attempt to connect, others fail at once for so long.
const REST: Duration = Duration::from_millis(200);

/// A server and the connection to it, if there is one.
pub(super) struct Node {
    client: Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Live>,
    /// Counts connections, so that only the one that failed is given up.
    generation: u64,
    rest_until: Option<Instant>,
}

struct Live {
    connection: Connection,
    /// The partitions whose `seq` was compared over this connection.
    compared: HashSet<Partition>,
}

/// A connection that may be used for a partition.
enum Checked {
    Ready(Connection, u64),
    /// The partition is no longer here: nothing was sent.
    Elsewhere(Value),
}

impl Node {
    /// Opens nothing yet.
    pub(super) fn new(client: Client) -> Self {
        Self { client, state: Mutex::default() }
    }

    /// Sends commands in one go and returns a reply for each; Redis' refusals are among them. They concern a partition,
    /// or none whose `seq` could be compared here: there is no key in them, or the partition is still another
    /// server's (ASK).
    pub(super) async fn ask(
        &self,
        seqs: &Seqs,
        about: Option<Partition>,
        commands: &Pipeline,
    ) -> Result<Vec<Value>, RedisFault> {
        let (mut connection, generation) = match self.connection(seqs, about).await? {
            Checked::Ready(connection, generation) => (connection, generation),
            Checked::Elsewhere(refusal) => return Ok(vec![refusal; commands.len()]),
        };
        let result = connection.req_packed_commands(commands, 0, commands.len()).await;
        match result {
            Ok(replies) => Ok(replies),
            Err(error) if is_connection(&error) => {
                let mut state = self.state.lock().await;
                if state.generation == generation {
                    state.current = None;
                }
                Err(RedisFault::Lost(error))
            }
            Err(error) => Err(RedisFault::Refused(error)),
        }
    }

    /// The partition has gone to another server: should it come back, its `seq` is compared again.
    pub(super) async fn forget(&self, p: Partition) {
        if let Some(current) = &mut self.state.lock().await.current {
            current.compared.remove(&p);
        }
    }

    /// A connection of one's own.
    pub(super) async fn own(&self) -> Result<Connection, RedisFault> {
        open(&self.client).await.map_err(|error| RedisFault::Unsent(error.to_string()))
    }

    async fn connection(&self, seqs: &Seqs, about: Option<Partition>) -> Result<Checked, RedisFault> {
        let mut state = self.state.lock().await;
        if state.current.is_none() && state.rest_until.is_some_and(|until| Instant::now() < until) {
            return Err(RedisFault::Unsent("the last attempt has just failed".to_owned()));
        }
        match self.checked(&mut state, seqs, about).await {
            Ok(checked) => {
                state.rest_until = None;
                Ok(checked)
            }
            Err(error) => {
                state.current = None;
                state.rest_until = Some(Instant::now() + REST);
                Err(RedisFault::Unsent(error.to_string()))
            }
        }
    }

    /// Connects where that must be, and looks at the partition's `seq` where nobody has yet: a Redis that has lost its
    /// tail is recognised before the first deduct, which each deduct then makes sure of by itself.
    async fn checked(&self, state: &mut State, seqs: &Seqs, about: Option<Partition>) -> Result<Checked, RedisError> {
        let current = match &mut state.current {
            Some(current) => current,
            none => {
                let connection = prepared(&self.client).await?;
                state.generation += 1;
                none.insert(Live { connection, compared: HashSet::new() })
            }
        };
        if let Some(p) = about
            && !current.compared.contains(&p)
            && let Some(read) = seqs.read(p)
        {
            let reply = current.connection.req_packed_command(&read).await?;
            if Redirection::of(&reply).is_some() {
                return Ok(Checked::Elsewhere(reply));
            }
            seqs.compare(p, Option::<u64>::from_redis_value(reply.extract_error()?)?);
            current.compared.insert(p);
        }
        Ok(Checked::Ready(current.connection.clone(), state.generation))
    }
}

/// A connection by which every script is known.
async fn prepared(client: &Client) -> Result<Connection, RedisError> {
    let mut connection = open(client).await?;
    let mut preload = ::redis::pipe();
    for script in
        [&*deduct::SCRIPT, &preheat::PREHEAT, &preheat::TERMS, &restore::SCRIPT, &settled::SETTLED, &settled::TRIM]
    {
        preload.cmd("SCRIPT").arg("LOAD").arg(script.source()).ignore();
    }
    preload.query_async::<()>(&mut connection).await?;
    Ok(connection)
}

/// Opens a connection on which no command waits for ever.
pub(super) async fn open(client: &Client) -> Result<Connection, RedisError> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT)).set_response_timeout(Some(COMMAND));
    client.get_multiplexed_async_connection_with_config(&config).await.map(seam::connection)
}

/// Whether an error says that the connection is of no more use.
fn is_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || error.is_unrecoverable_error()
}
