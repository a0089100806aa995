//! The way to Redis: one server, or the masters of a cluster. Everything is said about a partition, and goes to the
//! master that has it; all keys of a script or pipeline are that partition's.
//!
//! What a master refuses with MOVED or ASK it did not run, so that alone is sent on. Nothing else is ever sent twice.

use std::sync::Arc;

use ::redis::aio::ConnectionLike;
use ::redis::{Client, Cmd, FromRedisValue, Pipeline, RedisError, ServerErrorKind, Value as Reply};
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use sluice::script::{Arg, Script, Value};

use super::cluster::Cluster;
use super::node::Node;
use super::redirection::Redirection;
use super::seam::Connection;
use super::seqs::Seqs;
use super::{RedisFault, value};

/// How often a command is sent on before its redirection counts as a refusal.
const REDIRECTIONS: usize = 5;

/// The servers, and the highest `seq` of each partition that this process has seen.
pub(crate) struct Link {
    seqs: Seqs,
    servers: Servers,
}

enum Servers {
    One(Arc<Node>),
    Masters(Cluster),
}

/// What one server said to a question that has no key.
pub(crate) struct Told<T> {
    /// The partitions that it has.
    pub(crate) partitions: Vec<Partition>,
    pub(crate) reply: Result<T, RedisFault>,
}

impl Link {
    /// Opens nothing yet. In a cluster it begins to look for the masters, which needs a runtime.
    pub(crate) fn new(url: &str, keys: &Keyspace) -> Result<Self, RedisError> {
        let servers = match Cluster::start(url, keys)? {
            Some(cluster) => Servers::Masters(cluster),
            None => Servers::One(Arc::new(Node::new(Client::open(url)?))),
        };
        Ok(Self { seqs: Seqs::new(keys), servers })
    }

    /// The highest `seq` that this process has seen in a partition.
    pub(crate) fn known_seq(&self, p: Partition) -> u64 {
        self.seqs.known(p)
    }

    /// A `seq` was seen.
    pub(crate) fn saw_seq(&self, p: Partition, seq: u64) {
        self.seqs.saw(p, seq);
    }

    /// Runs a script: by its SHA1, and in full once where Redis does not know it (NOSCRIPT says that nothing was run).
    pub(crate) async fn eval(
        &self,
        p: Partition,
        script: &Script,
        keys: &[String],
        args: &[Arg<'_>],
    ) -> Result<Value, RedisFault> {
        let reply = match self.command::<Reply>(p, &call("EVALSHA", script.sha1(), keys, args)).await {
            Err(RedisFault::Refused(error)) if error.code() == Some("NOSCRIPT") => {
                self.command::<Reply>(p, &call("EVAL", script.source(), keys, args)).await?
            }
            other => other?,
        };
        Ok(value(reply)?)
    }

    /// Runs a command.
    pub(crate) async fn command<T: FromRedisValue>(&self, p: Partition, command: &Cmd) -> Result<T, RedisFault> {
        let mut one = ::redis::pipe();
        one.add_command(command.clone());
        let reply = self.send(p, &one).await?.pop().unwrap_or(Reply::Nil);
        read(reply)
    }

    /// Runs commands in one go; the result is made of all replies.
    pub(crate) async fn pipeline<T: FromRedisValue>(&self, p: Partition, all: &Pipeline) -> Result<T, RedisFault> {
        read(Reply::Array(self.send(p, all).await?))
    }

    /// A connection of one's own to a partition's master, for commands that block.
    pub(crate) async fn own(&self, p: Partition) -> Result<Connection, RedisFault> {
        let cluster = match &self.servers {
            Servers::One(node) => return node.own().await,
            Servers::Masters(cluster) => cluster,
        };
        let (mut address, mut node) = cluster.master(p).await?;
        for _ in 0..REDIRECTIONS {
            let mut connection = node.own().await.inspect_err(|_| cluster.suspect())?;
            let Some(read) = self.seqs.read(p) else { return Ok(connection) };
            let reply = connection.req_packed_command(&read).await.map_err(RedisFault::Lost)?;
            match Redirection::of(&reply) {
                // It is said once and for all; what is only lent (ASK) is waited for.
                Some(Redirection { to, guest: false }) => {
                    cluster.suspect();
                    address = to.or_at(address);
                    node = cluster.node(&address)?;
                }
                _ => return Ok(connection),
            }
        }
        Err(RedisFault::Unsent("the partition moves from master to master".to_owned()))
    }

    /// Asks every server that has a partition something that has no key; and for a key of its, since a master that the
    /// others have lost still answers what has none.
    pub(crate) async fn every<T: FromRedisValue>(&self, command: &Cmd) -> Result<Vec<Told<T>>, RedisFault> {
        let servers = match &self.servers {
            Servers::One(node) => vec![(self.seqs.partitions().collect(), Arc::clone(node))],
            Servers::Masters(cluster) => cluster.masters().await?,
        };
        let asked = servers.into_iter().map(|(partitions, node)| async move {
            let (about, mut both) = (partitions.first().copied(), ::redis::pipe());
            both.add_command(command.clone());
            if let Some(read) = about.and_then(|p| self.seqs.read(p)) {
                both.add_command(read);
            }
            let replies = node.ask(&self.seqs, about, &both).await;
            let told = replies.and_then(|replies| read::<Vec<Reply>>(Reply::Array(replies)));
            Told {
                partitions,
                reply: told.and_then(|mut replies| read(replies.drain(..).next().unwrap_or(Reply::Nil))),
            }
        });
        Ok(futures_util::future::join_all(asked).await)
    }

    /// A reply for each command; refusals are among them.
    async fn send(&self, p: Partition, commands: &Pipeline) -> Result<Vec<Reply>, RedisFault> {
        match &self.servers {
            Servers::One(node) => node.ask(&self.seqs, Some(p), commands).await,
            Servers::Masters(cluster) => self.send_on(cluster, p, commands).await,
        }
    }

    /// The same in a cluster: what the master did not run is sent on to where it points.
    async fn send_on(&self, cluster: &Cluster, p: Partition, commands: &Pipeline) -> Result<Vec<Reply>, RedisFault> {
        let (mut address, mut node) = cluster.master(p).await?;
        let mut replies = node.ask(&self.seqs, Some(p), commands).await.inspect_err(|_| cluster.suspect())?;
        for _ in 0..REDIRECTIONS {
            if replies.iter().any(is_cluster_down) {
                cluster.suspect();
            }
            let Some(Redirection { to, guest }) = replies.iter().find_map(Redirection::of) else { break };
            if !guest {
                cluster.suspect();
                node.forget(p).await;
            }
            address = to.or_at(address);
            node = cluster.node(&address)?;
            let open: Vec<usize> =
                (0..).zip(&replies).filter(|(_, r)| Redirection::of(r).is_some()).map(|(i, _)| i).collect();
            let mut again = ::redis::pipe();
            for (_, command) in (0..).zip(commands.cmd_iter()).filter(|(i, _)| open.contains(i)) {
                if guest {
                    again.cmd("ASKING");
                }
                again.add_command(command.clone());
            }
            let answers =
                node.ask(&self.seqs, (!guest).then_some(p), &again).await.inspect_err(|_| cluster.suspect())?;
            let every = if guest { 2 } else { 1 };
            for (i, answer) in open.into_iter().zip(answers.into_iter().skip(every - 1).step_by(every)) {
                if let Some(reply) = replies.get_mut(i) {
                    *reply = answer;
                }
            }
        }
        Ok(replies)
    }
}

fn is_cluster_down(reply: &Reply) -> bool {
    matches!(reply, Reply::ServerError(error) if error.kind() == Some(ServerErrorKind::ClusterDown))
}

/// A reply as its caller wants it; an error in it is Redis' refusal.
fn read<T: FromRedisValue>(reply: Reply) -> Result<T, RedisFault> {
    let reply = reply.extract_error().map_err(RedisFault::Refused)?;
    T::from_redis_value(reply).map_err(|error| RedisFault::Refused(error.into()))
}

fn call(name: &str, script: &str, keys: &[String], args: &[Arg<'_>]) -> Cmd {
    let mut call = ::redis::cmd(name);
    call.arg(script).arg(keys.len()).arg(keys);
    for arg in args {
        match arg {
            Arg::Str(text) => call.arg(text),
            Arg::Int(number) => call.arg(number),
        };
    }
    call
}

/// EVALSHA, then EVAL once where the script is not known, on a connection of one's own.
pub(crate) async fn eval(
    connection: &mut (impl ConnectionLike + Send),
    script: &Script,
    keys: &[String],
    args: &[Arg<'_>],
) -> Result<Reply, RedisError> {
    match call("EVALSHA", script.sha1(), keys, args).query_async(connection).await {
        Err(error) if error.code() == Some("NOSCRIPT") => {
            call("EVAL", script.source(), keys, args).query_async(connection).await
        }
        other => other,
    }
}
