//! One lock in several independent servers: held where a majority gives it.

use crate::error::{Fault, Invalid, NotAcquired};
use crate::fence::Fence;
use crate::guard::Guard;
use crate::hold::{Attempt, Hold};
use crate::keys::{Keys, Keyspace};
use crate::locks::{Attempts, Watch, acquire, fence_of};
use crate::monitor::Monitor;
use crate::script::{self, Script};
use crate::store::{Redis, Store};
use crate::terms::{LONGEST_TTL, Terms, millis, within};
use crate::token::Token;
use crate::validity::{Poll, Votes, quorum};
use crate::wait::Wait;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const TIMEOUT: Duration = Duration::from_millis(100);

/// Several servers that share nothing: no replication, no host, no disk.
#[derive(Debug, Clone)]
pub struct Servers {
    nodes: Arc<Nodes>,
    space: Keyspace,
    monitor: Option<Monitor>,
}

impl Servers {
    /// One connection each; an odd number, 3 or more. The prefix is as in [`Locks::new`](crate::Locks::new).
    ///
    /// # Errors
    /// When the number or the prefix is none that works.
    pub fn new<R: Redis>(servers: impl IntoIterator<Item = R>, prefix: &str) -> Result<Self, Invalid> {
        let nodes: Vec<Store> = servers.into_iter().map(|redis| Store::new(Arc::new(redis), TIMEOUT)).collect();
        if nodes.len() < 3 || nodes.len().is_multiple_of(2) {
            return Err(Invalid::Servers(nodes.len()));
        }
        Ok(Self { nodes: Arc::new(Nodes(nodes)), space: Keyspace::new(prefix)?, monitor: None })
    }

    /// How long one server may take, 1 ms and more; 100 ms unless this is called. It should be much shorter than the
    /// leases: a server that is frozen costs so long.
    ///
    /// # Errors
    /// When it is shorter, or longer than any lease.
    pub fn with_timeout(mut self, timeout: Duration) -> Result<Self, Invalid> {
        within("a time-out", timeout, Duration::from_millis(1), LONGEST_TTL)?;
        self.nodes = Arc::new(Nodes(self.nodes.0.iter().map(|store| store.with_timeout(timeout)).collect()));
        Ok(self)
    }

    /// Counts and watches the locks that are made from here on.
    #[must_use]
    pub fn with_monitor(mut self, monitor: &Monitor) -> Self {
        self.monitor = Some(monitor.clone());
        self
    }

    /// A lock in all of them.
    ///
    /// # Errors
    /// When the name is none; as in [`Locks::simple`](crate::Locks::simple).
    pub fn redlock(&self, name: &str, terms: Terms) -> Result<Redlock, Invalid> {
        let keys = Arc::new(self.space.keys(name)?);
        let watch = Watch { kind: "redlock", monitor: self.monitor.clone() };
        Ok(Redlock { nodes: Arc::clone(&self.nodes), keys, terms, watch })
    }
}

/// A lock that is held where a majority of servers gives it, for its ttl less the time it took to get and what clocks
/// may drift. Made by [`Servers::redlock`].
#[derive(Debug, Clone)]
pub struct Redlock {
    nodes: Arc<Nodes>,
    keys: Arc<Keys>,
    terms: Terms,
    watch: Watch,
}

impl Redlock {
    /// Takes the lock, waiting as told while others have a majority, or votes are split.
    ///
    /// # Errors
    /// When no majority came in time, or when too few servers answer, or so slowly that nothing of the lease is left;
    /// that is not waited for. In all cases the servers that agreed are told to forget it.
    pub async fn acquire(&self, wait: Wait) -> Result<Guard, NotAcquired> {
        acquire(self, wait).await
    }

    /// Asks all servers for the lock, until a majority has decided. The highest number comes with a yes.
    async fn take(&self, token: &Token) -> Result<Option<Option<Fence>>, Fault> {
        let ttl = millis(self.terms.ttl());
        let mut calls: FuturesUnordered<_> =
            self.nodes.0.iter().map(|store| take(store, &self.keys, token, ttl, self.terms.is_fenced())).collect();
        let (mut votes, mut highest) = (Votes::default(), None);
        while let Some(vote) = calls.next().await {
            match vote {
                Ok(Some(fence)) => {
                    votes.yes += 1;
                    highest = highest.max(fence);
                }
                Ok(None) => votes.no += 1,
                Err(_) => votes.faults += 1,
            }
            if votes.poll(self.nodes.0.len()) != Poll::Open {
                break;
            }
        }
        Ok(self.nodes.decide(votes)?.then_some(highest))
    }

    /// Has a majority of the servers that gave the lock remember the number. Two majorities share a server, and there
    /// the next holder's number is larger; without this, two holders could get theirs from different servers.
    async fn raise(&self, token: &Token, fence: Fence) -> Result<bool, Fault> {
        let calls = self.nodes.0.iter().map(|store| {
            let (store, keys, token) = (store.clone(), Arc::clone(&self.keys), token.clone());
            call(async move {
                let arguments = [token.as_str(), &fence.to_string()];
                store.eval::<i64>(&script::RAISE, &[&keys.lock, &keys.fence], &arguments).await
            })
        });
        self.nodes.vote(calls.collect()).await
    }
}

impl Attempts for Redlock {
    async fn attempt(&self, waiting: Instant) -> Result<Option<Guard>, Fault> {
        let token = Token::random()?;
        let nodes = Arc::clone(&self.nodes);
        // Not settled before the lock is given: some servers may have agreed.
        let mut attempt = Attempt::new(Hold::Quorum { nodes, keys: Arc::clone(&self.keys), token: token.clone() });
        attempt.begin();
        let asked = Instant::now();
        let Some(fence) = self.take(&token).await? else {
            return Ok(None);
        };
        if let Some(fence) = fence
            && !self.raise(&token, fence).await?
        {
            return Ok(None);
        }
        self.watch.granted(attempt.granted(), &self.keys.name, self.terms, asked, waiting, fence).map(Some)
    }

    fn watch(&self) -> &Watch {
        &self.watch
    }
}

async fn take(
    store: &Store,
    keys: &Keys,
    token: &Token,
    ttl: u64,
    fenced: bool,
) -> Result<Option<Option<Fence>>, Fault> {
    if fenced {
        let arguments = [token.as_str(), &ttl.to_string()];
        let number: Option<String> = store.eval(&script::FENCED, &[&keys.lock, &keys.fence], &arguments).await?;
        return number.as_deref().map(fence_of).transpose();
    }
    let mut set = redis::cmd("SET");
    set.arg(&keys.lock).arg(token.as_str()).arg("NX").arg("PX").arg(ttl);
    Ok(store.command::<Option<String>>(&set).await?.map(|_| None))
}

/// One server's vote.
type Call = BoxFuture<'static, Result<bool, Fault>>;

fn call(asked: impl Future<Output = Result<i64, Fault>> + Send + 'static) -> Call {
    Box::pin(async move {
        match asked.await {
            Ok(yes) => Ok(yes == 1),
            Err(fault) if fault.is_other_kind() => Ok(false),
            Err(fault) => Err(fault),
        }
    })
}

/// The servers.
#[derive(Debug)]
pub(crate) struct Nodes(Vec<Store>);

impl Nodes {
    /// Runs a script on the lock of every server; whether a majority says 1.
    pub(crate) async fn agree(
        &self,
        script: &'static Script,
        keys: &Arc<Keys>,
        arguments: &[&str],
    ) -> Result<bool, Fault> {
        let calls = self.0.iter().map(|store| {
            let (store, keys) = (store.clone(), Arc::clone(keys));
            let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
            call(async move {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                store.eval::<i64>(script, &[&keys.lock], &arguments).await
            })
        });
        self.vote(calls.collect()).await
    }

    /// Counts votes until they decide. The servers that are slower are told all the same, in the background.
    async fn vote(&self, mut calls: FuturesUnordered<Call>) -> Result<bool, Fault> {
        let mut votes = Votes::default();
        while let Some(vote) = calls.next().await {
            match vote {
                Ok(true) => votes.yes += 1,
                Ok(false) => votes.no += 1,
                Err(_) => votes.faults += 1,
            }
            if votes.poll(self.0.len()) != Poll::Open {
                break;
            }
        }
        if !calls.is_empty() {
            tokio::spawn(async move { while calls.next().await.is_some() {} });
        }
        self.decide(votes)
    }

    fn decide(&self, votes: Votes) -> Result<bool, Fault> {
        let servers = self.0.len();
        match votes.poll(servers) {
            Poll::Won => Ok(true),
            Poll::Refused => Ok(false),
            Poll::Open | Poll::Unheard => {
                Err(Fault::NoQuorum { answered: votes.answered(), needed: quorum(servers), servers })
            }
        }
    }
}
