//! One server: its connection is kept up, bounded in time, and never trusted after it failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::link::Link;
use super::{Times, Transaction, Unavailable, connect};
use crate::catalog::Catalog;
use crate::config::{Address, Target};
use crate::request::Command;
use crate::resp::{self, Head};

/// The pause between two attempts. Short: Redis should be used again well within a second of its return.
const PAUSE: Duration = Duration::from_millis(50);

/// A task that ends with its last owner.
pub(super) struct Task(JoinHandle<()>);

impl Task {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether the server can be asked at this moment.
#[derive(Clone)]
enum State {
    /// The first attempt since the start, or since the connection was lost, is under way.
    Connecting,
    /// Commands can be sent.
    Up(Live),
    /// The last attempt failed; the next one is under way.
    Down,
}

/// A working connection.
#[derive(Clone)]
pub(super) struct Live {
    link: Link,
    pub(super) catalog: Arc<Catalog>,
    /// Redis' refusal of MULTI and EXEC. Sending MULTI nevertheless would run the commands one by one.
    no_transactions: Arc<OnceLock<Bytes>>,
    /// Told when a reply did not come in time, so that the connection is tried and, if dead, replaced.
    suspect: Arc<Notify>,
}

/// A server. The connection ends with the last clone.
#[derive(Clone)]
pub(super) struct Node {
    state: watch::Receiver<State>,
    times: Times,
    _keeper: Arc<Task>,
}

impl Node {
    /// Begins to connect to `address`, or to where the target says.
    pub(super) fn start(target: Arc<Target>, address: Option<Address>, times: Times, connects: Arc<AtomicU64>) -> Self {
        let (sender, state) = watch::channel(State::Connecting);
        let keeper = Keeper { target, address, times, connects };
        Self { state, times, _keeper: Arc::new(Task::spawn(async move { keeper.keep(&sender).await })) }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), State::Up(_))
    }

    pub(super) async fn run(&self, commands: &[Command]) -> Result<Bytes, Unavailable> {
        let mut bytes = Vec::with_capacity(commands.iter().map(length).sum());
        commands.iter().for_each(|command| resp::encode(&mut bytes, command));
        self.send(&self.live().await?, bytes, commands.len()).await
    }

    pub(super) async fn transaction(&self, commands: &[Command]) -> Result<Transaction, Unavailable> {
        let live = self.live().await?;
        if let Some(refusal) = live.no_transactions.get() {
            return Ok(Transaction::Discarded { error: refusal.to_vec(), queueing: false });
        }
        let mut bytes = Vec::with_capacity(commands.iter().map(length).sum::<usize>() + 64);
        resp::encode(&mut bytes, &Command::of(["MULTI"]));
        commands.iter().for_each(|command| resp::encode(&mut bytes, command));
        resp::encode(&mut bytes, &Command::of(["EXEC"]));
        let replies = self.send(&live, bytes, commands.len() + 2).await?;
        if let Some(refusal) = resp::error(&replies) {
            // The permission was taken away while we were connected: the next one is not even sent.
            let _ = live.no_transactions.set(Bytes::copy_from_slice(refusal));
        }
        outcome(&replies, commands.len())
    }

    async fn send(&self, live: &Live, bytes: Vec<u8>, replies: usize) -> Result<Bytes, Unavailable> {
        match timeout(self.times.command, live.link.ask(bytes, replies)).await {
            Ok(Some(replies)) => Ok(replies),
            Ok(None) => Err(Unavailable::Lost),
            Err(_) => {
                live.suspect.notify_one();
                Err(Unavailable::TimedOut)
            }
        }
    }

    /// The connection; waits for the first attempt to make one, but not for a Redis that is known to be down.
    pub(super) async fn live(&self) -> Result<Live, Unavailable> {
        if let State::Up(live) = &*self.state.borrow() {
            return Ok(live.clone());
        }
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| !matches!(state, State::Connecting));
        match timeout(self.times.connect, settled).await {
            Ok(Ok(state)) => match &*state {
                State::Up(live) => Ok(live.clone()),
                _ => Err(Unavailable::Down),
            },
            _ => Err(Unavailable::Down),
        }
    }
}

fn length(command: &Command) -> usize {
    command.parts().iter().map(|part| part.len() + 16).sum::<usize>() + 8
}

/// What MULTI, so many commands and EXEC came to.
fn outcome(replies: &Bytes, commands: usize) -> Result<Transaction, Unavailable> {
    let mut rest: &[u8] = replies;
    let mut refused = None;
    for _ in 0..=commands {
        let reply = resp::next_reply(&mut rest).ok_or(Unavailable::Lost)?;
        refused = refused.or(resp::error(reply));
    }
    match resp::take(&mut rest) {
        Ok(Some(Head::Array(_))) => Ok(Transaction::Ran(replies.slice_ref(rest))),
        Ok(Some(Head::Error(exec))) => {
            let error = refused.unwrap_or(exec).to_vec();
            Ok(Transaction::Discarded { error, queueing: refused.is_some() })
        }
        _ => Err(Unavailable::Lost),
    }
}

/// Makes the connection, watches it, replaces it.
struct Keeper {
    target: Arc<Target>,
    address: Option<Address>,
    times: Times,
    connects: Arc<AtomicU64>,
}

impl Keeper {
    async fn keep(&self, state: &watch::Sender<State>) {
        let name = self.address.as_ref().map_or_else(|| self.target.to_string(), Address::to_string);
        let mut told = String::new();
        loop {
            let attempt = timeout(self.times.connect, connect::prepare(&self.target, self.address.as_ref())).await;
            match attempt.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
                Ok(ready) => {
                    info!(redis = %name, "redis is up");
                    told.clear();
                    self.connects.fetch_add(1, Ordering::AcqRel);
                    let why = self.serve(ready, state).await;
                    state.send_replace(State::Connecting);
                    warn!(redis = %name, "{why}");
                }
                Err(reason) => {
                    state.send_replace(State::Down);
                    if reason != told {
                        warn!(redis = %name, %reason, "redis is not reachable; requests get 503 until it is");
                        told = reason;
                    }
                }
            }
            sleep(PAUSE).await;
        }
    }

    async fn serve(&self, ready: connect::Ready, state: &watch::Sender<State>) -> &'static str {
        let (link, work) = Link::new(ready.socket);
        let live = Live {
            link,
            catalog: Arc::new(ready.catalog),
            no_transactions: Arc::new(ready.no_transactions.map(OnceLock::from).unwrap_or_default()),
            suspect: Arc::new(Notify::new()),
        };
        state.send_replace(State::Up(live.clone()));
        tokio::select! {
            () = work => "redis closed the connection",
            () = until_mute(&live, self.times.command) => "redis does not answer; the connection is given up",
        }
    }
}

/// Ends when a reply did not come in time and a PING after it does not either: the peer may be gone without a word.
async fn until_mute(live: &Live, command_timeout: Duration) {
    loop {
        live.suspect.notified().await;
        let mut ping = Vec::new();
        resp::encode(&mut ping, &Command::of(["PING"]));
        if !matches!(timeout(command_timeout, live.link.ask(ping, 1)).await, Ok(Some(_))) {
            return;
        }
    }
}
