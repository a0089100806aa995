//! Redis, however many servers it is: commands in, replies out, in bounded time.
//!
//! Nothing is sent twice unless Redis said that it did not run it: when a connection breaks, what was under way
//! is answered with an error that says so. A reply that comes too late belongs to a request that nobody waits for
//! any more, and is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::catalog::Catalog;
use crate::config::{Kind, Target};
use crate::request::Command;

mod cluster;
mod connect;
mod link;
mod node;
mod slots;
mod socket;
mod stream;

use cluster::Cluster;
use node::Node;

pub use stream::Stream;

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

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// One attempt to reach Redis.
    pub connect: Duration,
    /// A reply.
    pub command: Duration,
}

/// What became of a transaction.
#[derive(Debug)]
pub enum Transaction {
    /// It ran; one reply for each command, one after the other.
    Ran(Bytes),
    /// It did not run; the error that Redis gave, and whether it was given to a command while queueing.
    Discarded {
        /// Redis' error.
        error: Vec<u8>,
        /// Whether a command was refused while queueing, which EXEC then only repeats in general words.
        queueing: bool,
    },
}

/// Sends commands to Redis.
#[derive(Clone)]
pub struct Backend {
    shape: Shape,
    target: Arc<Target>,
    times: Times,
    connects: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Shape {
    One(Node),
    Cluster(Arc<Cluster>),
}

impl Backend {
    /// Begins to connect. Redis need not be up.
    pub fn start(target: Target, times: Times) -> Self {
        let target = Arc::new(target);
        let connects = Arc::new(AtomicU64::new(0));
        let shape = match &target.kind {
            Kind::Cluster(seeds) => {
                Shape::Cluster(Cluster::start(seeds.clone(), Arc::clone(&target), times, Arc::clone(&connects)))
            }
            _ => Shape::One(Node::start(Arc::clone(&target), None, times, Arc::clone(&connects))),
        };
        Self { shape, target, times, connects }
    }

    /// Whether Redis answered when it was last tried.
    pub fn is_up(&self) -> bool {
        match &self.shape {
            Shape::One(node) => node.is_up(),
            Shape::Cluster(cluster) => cluster.is_up(),
        }
    }

    /// Changes when a connection was made anew: what was loaded into Redis may be gone. Waits for the connection.
    pub async fn generation(&self) -> Result<u64, Unavailable> {
        if let Shape::One(node) = &self.shape {
            node.live().await?;
        }
        Ok(self.connects.load(Ordering::Acquire))
    }

    /// What Redis says about its commands.
    pub async fn catalog(&self) -> Result<Arc<Catalog>, Unavailable> {
        match &self.shape {
            Shape::One(node) => Ok(node.live().await?.catalog),
            Shape::Cluster(cluster) => cluster.catalog().await,
        }
    }

    /// Sends commands in order and gives their replies, errors among them, one after the other.
    pub async fn run(&self, commands: &[Command]) -> Result<Bytes, Unavailable> {
        match &self.shape {
            Shape::One(node) => node.run(commands).await,
            Shape::Cluster(cluster) => cluster.run(commands).await,
        }
    }

    /// Sends MULTI, the commands and EXEC in one piece, so that no other client's command comes between.
    pub async fn transaction(&self, commands: &[Command]) -> Result<Transaction, Unavailable> {
        match &self.shape {
            Shape::One(node) => node.transaction(commands).await,
            Shape::Cluster(cluster) => cluster.transaction(commands).await,
        }
    }

    /// A connection of its own for a command whose replies never end.
    pub async fn stream(&self, command: &Command) -> Result<Stream, Unavailable> {
        let address = match &self.shape {
            Shape::One(_) => None,
            Shape::Cluster(cluster) => Some(cluster.any_address().ok_or(Unavailable::Down)?),
        };
        Stream::open(&self.target, address, self.times.connect, command).await
    }
}
