//! The one connection to Redis that all clients share: kept up, bounded in time, never trusted after it failed.
//!
//! Nothing is sent twice: when the connection breaks, what was under way is answered with an error that says so.
//! A reply that comes too late belongs to a request that nobody waits for any more, and is dropped.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, Value};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::request::Command;

mod connect;

pub(crate) use connect::keep_connected;

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// There is no connection; nothing was sent.
    #[error("ERR redis is not reachable; nothing was sent")]
    Down,
    /// The connection broke while a reply was due.
    #[error("ERR the connection to redis was lost; the request may or may not have run")]
    Lost,
    /// No reply in time.
    #[error("ERR redis did not answer in time; the request may or may not have run")]
    TimedOut,
}

/// Whether Redis can be asked at this moment.
#[derive(Clone)]
pub(crate) enum State {
    /// The first attempt since the start, or since the connection was lost, is under way.
    Connecting,
    /// Commands can be sent.
    Up(Live),
    /// The last attempt failed; the next one is under way.
    Down,
}

/// A working connection.
#[derive(Clone)]
pub(crate) struct Live {
    connection: MultiplexedConnection,
    /// Redis' refusal of MULTI and EXEC, if the user's permissions do not include them. Sending MULTI
    /// nevertheless would run the commands one by one.
    no_transactions: Option<Arc<Value>>,
    /// Told when a reply did not come in time, so that the connection is tried and, if dead, replaced.
    suspect: Arc<Notify>,
}

/// Sends commands to Redis.
#[derive(Clone)]
pub struct Backend {
    state: watch::Receiver<State>,
    connect_timeout: Duration,
    command_timeout: Duration,
}

/// What became of a transaction.
#[derive(Debug)]
pub enum Transaction {
    /// It ran; one reply for each command.
    Ran(Vec<Value>),
    /// It did not run; the error that Redis gave, and whether it was given to a command while queueing.
    Discarded {
        /// Redis' error.
        error: Value,
        /// Whether a command was refused while queueing, which EXEC then only repeats in general words.
        queueing: bool,
    },
}

impl Backend {
    pub(crate) fn new(state: watch::Receiver<State>, connect_timeout: Duration, command_timeout: Duration) -> Self {
        Self { state, connect_timeout, command_timeout }
    }

    /// Whether Redis answered when it was last tried.
    pub fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), State::Up(_))
    }

    /// Sends commands in order and gives their replies, errors among them.
    pub async fn run(&self, commands: &[Command]) -> Result<Vec<Value>, Unavailable> {
        let mut pipeline = Pipeline::with_capacity(commands.len());
        commands.iter().for_each(|command| add(&mut pipeline, command));
        self.send(&self.live().await?, &pipeline).await
    }

    /// Sends MULTI, the commands and EXEC in one piece, so that no other client's command comes between.
    pub async fn transaction(&self, commands: &[Command]) -> Result<Transaction, Unavailable> {
        let live = self.live().await?;
        if let Some(refusal) = &live.no_transactions {
            return Ok(Transaction::Discarded { error: Value::clone(refusal), queueing: false });
        }
        let mut pipeline = Pipeline::with_capacity(commands.len() + 2);
        pipeline.cmd("MULTI");
        commands.iter().for_each(|command| add(&mut pipeline, command));
        pipeline.cmd("EXEC");
        outcome(self.send(&live, &pipeline).await?)
    }

    async fn send(&self, live: &Live, pipeline: &Pipeline) -> Result<Vec<Value>, Unavailable> {
        let mut connection = live.connection.clone();
        let replies = connection.req_packed_commands(pipeline, 0, pipeline.len());
        match timeout(self.command_timeout, replies).await {
            Ok(Ok(replies)) if replies.len() == pipeline.len() => Ok(replies),
            Ok(_) => Err(Unavailable::Lost),
            Err(_) => {
                live.suspect.notify_one();
                Err(Unavailable::TimedOut)
            }
        }
    }

    /// The connection; waits for the first attempt to make one, but not for a Redis that is known to be down.
    async fn live(&self) -> Result<Live, Unavailable> {
        if let State::Up(live) = &*self.state.borrow() {
            return Ok(live.clone());
        }
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| !matches!(state, State::Connecting));
        match timeout(self.connect_timeout, settled).await {
            Ok(Ok(state)) => match &*state {
                State::Up(live) => Ok(live.clone()),
                _ => Err(Unavailable::Down),
            },
            _ => Err(Unavailable::Down),
        }
    }
}

fn add(pipeline: &mut Pipeline, command: &Command) {
    let mut cmd = Cmd::new();
    for part in command.parts() {
        cmd.arg(part.as_slice());
    }
    pipeline.add_command(cmd);
}

fn outcome(mut replies: Vec<Value>) -> Result<Transaction, Unavailable> {
    match replies.pop() {
        Some(Value::Array(results)) => Ok(Transaction::Ran(results)),
        Some(exec) => {
            let refused = replies.into_iter().find(|reply| matches!(reply, Value::ServerError(_)));
            let queueing = refused.is_some();
            Ok(Transaction::Discarded { error: refused.unwrap_or(exec), queueing })
        }
        None => Err(Unavailable::Lost),
    }
}
