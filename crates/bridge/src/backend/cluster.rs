//! A cluster: every command goes to the master of its keys' slot.
//!
//! What Redis refuses with MOVED or ASK it did not run, so that is sent again to where Redis points. Everything
//! else is never sent twice. Keys in several slots get Redis' own error.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::node::{Node, Task};
use super::slots::{SLOTS, Slots, redirection, slot};
use super::{Times, Transaction, Unavailable, connect, socket};
use crate::catalog::{Catalog, Merge, Reach};
use crate::config::{Address, Target};
use crate::request::Command;
use crate::resp::{self, Head};

/// How often the slots are read even if nothing seems wrong.
const REFRESH: Duration = Duration::from_secs(10);
/// The pause between two attempts to read them.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a command is sent on before its redirection is given to the client.
const REDIRECTIONS: usize = 5;
const CROSS_SLOT: &[u8] = b"CROSSSLOT Keys in request don't hash to the same slot";

/// The masters and what is known about the slots.
pub(super) struct Cluster {
    target: Arc<Target>,
    times: Times,
    connects: Arc<AtomicU64>,
    slots: watch::Receiver<Arc<Slots>>,
    nodes: RwLock<HashMap<Address, Node>>,
    /// Told when a reply shows that the slots have moved.
    stale: Arc<Notify>,
    keeper: OnceLock<Task>,
}

/// One command on its way: where to, and whether as a guest (ASK).
struct Errand<'c> {
    index: usize,
    command: &'c Command,
    to: Address,
    asking: bool,
}

impl Cluster {
    pub(super) fn start(seeds: Vec<Address>, target: Arc<Target>, times: Times, connects: Arc<AtomicU64>) -> Arc<Self> {
        let (sender, slots) = watch::channel(Arc::new(Slots::default()));
        let stale = Arc::new(Notify::new());
        let (nodes, keeper) = (RwLock::default(), OnceLock::new());
        let cluster = Arc::new(Self { target, times, connects, slots, nodes, stale, keeper });
        // Only now: a keeper that finds no cluster takes it for gone, and ends.
        let (target, stale) = (Arc::clone(&cluster.target), Arc::clone(&cluster.stale));
        let keeper = keep(Arc::downgrade(&cluster), seeds, target, times, sender, stale);
        cluster.keeper.get_or_init(|| Task::spawn(keeper));
        cluster
    }

    pub(super) fn is_up(&self) -> bool {
        let slots = self.slots.borrow().clone();
        !slots.masters().is_empty() && slots.masters().iter().all(|master| self.node(master).is_up())
    }

    /// A master that answers, for what any node can do.
    pub(super) fn any_address(&self) -> Option<Address> {
        let slots = self.slots.borrow().clone();
        let up = slots.masters().iter().find(|master| self.node(master).is_up());
        up.or(slots.masters().first()).cloned()
    }

    pub(super) async fn catalog(&self) -> Result<Arc<Catalog>, Unavailable> {
        self.slots().await?;
        let address = self.any_address().ok_or(Unavailable::Down)?;
        Ok(self.node(&address).live().await?.catalog)
    }

    /// The connection to a master, made when it is first needed.
    fn node(&self, address: &Address) -> Node {
        if let Some(node) = self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(address) {
            return node.clone();
        }
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let connects = Arc::clone(&self.connects);
            Node::start(Arc::clone(&self.target), Some(address.clone()), self.times, connects)
        };
        nodes.entry(address.clone()).or_insert_with(start).clone()
    }

    /// Connections to nodes that are no masters any more end with the last request on them.
    fn keep_only(&self, masters: &[Address]) {
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|address, _| masters.contains(address));
        drop(nodes);
        masters.iter().for_each(|master| drop(self.node(master)));
    }

    /// The slots; waits for the first reading.
    async fn slots(&self) -> Result<Arc<Slots>, Unavailable> {
        let mut slots = self.slots.clone();
        let known = slots.wait_for(|slots| !slots.masters().is_empty());
        match timeout(self.times.connect, known).await {
            Ok(Ok(slots)) => Ok(Arc::clone(&slots)),
            _ => Err(Unavailable::Down),
        }
    }

    /// The master for a command: that of its first key, or any.
    fn master(&self, command: &Command, catalog: &Catalog, slots: &Slots) -> Result<Address, Unavailable> {
        let keys = catalog.keys(command).keys;
        match keys.first() {
            Some(key) => slots.master(slot(key)).or(slots.masters().first()).cloned().ok_or(Unavailable::Down),
            None => self.any_address().ok_or(Unavailable::Down),
        }
    }

    pub(super) async fn run(&self, commands: &[Command]) -> Result<Bytes, Unavailable> {
        let (slots, catalog) = (self.slots().await?, self.catalog().await?);
        let mut replies: Vec<Bytes> = Vec::with_capacity(commands.len());
        let mut errands = Vec::new();
        for (index, command) in commands.iter().enumerate() {
            let entry = catalog.find(command);
            let merge = entry.filter(|entry| entry.reach == Reach::Masters && entry.keys.is_empty());
            if let Some(entry) = merge {
                // It concerns what comes before and after it, so it waits and is waited for.
                self.deliver(std::mem::take(&mut errands), &mut replies).await?;
                replies.push(self.everywhere(command, entry.merge, &slots).await?);
            } else {
                replies.push(Bytes::new());
                errands.push(Errand { index, command, to: self.master(command, &catalog, &slots)?, asking: false });
            }
        }
        self.deliver(errands, &mut replies).await?;
        match <[Bytes; 1]>::try_from(replies) {
            Ok([only]) => Ok(only),
            Err(replies) => Ok(replies.concat().into()),
        }
    }

    /// Sends each errand, in order for each master, and again to where Redis points.
    async fn deliver(&self, mut errands: Vec<Errand<'_>>, replies: &mut [Bytes]) -> Result<(), Unavailable> {
        for turn in 0..=REDIRECTIONS {
            let mut by_node: HashMap<(Address, bool), Vec<Errand<'_>>> = HashMap::new();
            for errand in errands.drain(..) {
                by_node.entry((errand.to.clone(), errand.asking)).or_default().push(errand);
            }
            let sent = by_node.into_iter().map(|((to, asking), group)| self.send(to, asking, group));
            for outcome in join_all(sent).await {
                let (group, answers) = outcome?;
                let mut rest: &[u8] = &answers;
                for errand in group {
                    let reply = resp::next_reply(&mut rest).ok_or(Unavailable::Lost)?;
                    match self.redirected(reply, &errand) {
                        Some(again) if turn < REDIRECTIONS => errands.push(again),
                        _ => {
                            if let Some(slot) = replies.get_mut(errand.index) {
                                *slot = answers.slice_ref(reply);
                            }
                        }
                    }
                }
            }
            if errands.is_empty() {
                break;
            }
            errands.sort_by_key(|errand| errand.index);
        }
        Ok(())
    }

    async fn send<'c>(
        &self,
        to: Address,
        asking: bool,
        group: Vec<Errand<'c>>,
    ) -> Result<(Vec<Errand<'c>>, Bytes), Unavailable> {
        let mut commands = Vec::with_capacity(group.len());
        for errand in &group {
            commands.extend(asking.then(|| Command::of(["ASKING"])));
            commands.push(errand.command.clone());
        }
        let sent = self.node(&to).run(&commands).await;
        if sent.is_err() {
            self.stale.notify_one();
        }
        let answers = sent?;
        if !asking {
            return Ok((group, answers));
        }
        let mut rest: &[u8] = &answers;
        let mut kept = Vec::with_capacity(answers.len());
        for _ in &group {
            resp::next_reply(&mut rest);
            kept.extend_from_slice(resp::next_reply(&mut rest).ok_or(Unavailable::Lost)?);
        }
        Ok((group, kept.into()))
    }

    fn redirected<'c>(&self, reply: &[u8], errand: &Errand<'c>) -> Option<Errand<'c>> {
        let error = resp::error(reply)?;
        let asking = error.starts_with(b"ASK ");
        if !asking && !error.starts_with(b"MOVED ") {
            return None;
        }
        if !asking {
            self.stale.notify_one();
        }
        let to = redirection(error, &errand.to)?;
        Some(Errand { index: errand.index, command: errand.command, to, asking })
    }

    /// Sends a command to every master and makes one reply of theirs.
    async fn everywhere(&self, command: &Command, merge: Merge, slots: &Slots) -> Result<Bytes, Unavailable> {
        let commands = [command.clone()];
        let nodes: Vec<Node> = slots.masters().iter().map(|master| self.node(master)).collect();
        let replies = join_all(nodes.iter().map(|node| node.run(&commands))).await;
        let replies = replies.into_iter().collect::<Result<Vec<_>, _>>()?;
        merged(replies, merge).ok_or(Unavailable::Lost)
    }

    pub(super) async fn transaction(&self, commands: &[Command]) -> Result<Transaction, Unavailable> {
        let catalog = self.catalog().await?;
        let mut keys = commands.iter().flat_map(|command| catalog.keys(command).keys).map(|key| slot(key));
        let first = keys.next();
        if keys.any(|slot| Some(slot) != first) {
            return Ok(Transaction::Discarded { error: CROSS_SLOT.to_vec(), queueing: false });
        }
        let slots = self.slots().await?;
        let master = first.and_then(|slot| slots.master(slot)).cloned().or_else(|| self.any_address());
        let mut to = master.ok_or(Unavailable::Down)?;
        for _ in 0..REDIRECTIONS {
            let outcome = self.node(&to).transaction(commands).await.inspect_err(|_| self.stale.notify_one())?;
            match &outcome {
                // Nothing of it ran.
                Transaction::Discarded { error, queueing: true } if error.starts_with(b"MOVED ") => {
                    self.stale.notify_one();
                    to = redirection(error, &to).ok_or(Unavailable::Lost)?;
                }
                _ => return Ok(outcome),
            }
        }
        Err(Unavailable::Down)
    }
}

/// One reply of many.
fn merged(replies: Vec<Bytes>, merge: Merge) -> Option<Bytes> {
    if let Some(error) = replies.iter().find(|reply| resp::error(reply).is_some()) {
        return Some(error.clone());
    }
    let (mut sum, mut items, mut joined) = (0i64, 0, Vec::new());
    for reply in &replies {
        let mut rest: &[u8] = reply;
        match (resp::take(&mut rest), merge) {
            (Ok(Some(Head::Integer(digits))), Merge::Sum) => sum += str::from_utf8(digits).ok()?.parse::<i64>().ok()?,
            // SCRIPT EXISTS would have to be known on all; KEYS are on one each.
            (Ok(Some(Head::Array(length))), _) if !rest.starts_with(b":") => {
                items += length;
                joined.extend_from_slice(rest);
            }
            _ => return replies.into_iter().next(),
        }
    }
    if merge == Merge::Sum {
        return Some(format!(":{sum}\r\n").into());
    }
    let mut out = Vec::with_capacity(joined.len() + 16);
    resp::header(&mut out, b'*', items);
    out.extend_from_slice(&joined);
    Some(out.into())
}

/// Reads the slots, again and again, until the cluster is dropped.
async fn keep(
    cluster: Weak<Cluster>,
    seeds: Vec<Address>,
    target: Arc<Target>,
    times: Times,
    slots: watch::Sender<Arc<Slots>>,
    stale: Arc<Notify>,
) {
    loop {
        let known = slots.borrow().masters().to_vec();
        let mut read = None;
        for address in known.iter().chain(&seeds) {
            read = timeout(times.connect, read_slots(&target, address)).await.ok().flatten();
            if read.is_some() {
                break;
            }
        }
        let Some(read) = read else {
            warn!(redis = %target, "no node of the cluster tells its slots");
            sleep(times.connect).await;
            continue;
        };
        let Some(cluster) = cluster.upgrade() else { return };
        cluster.keep_only(read.masters());
        drop(cluster);
        slots.send_replace(Arc::new(read));
        sleep(PAUSE).await;
        let _ = timeout(REFRESH, stale.notified()).await;
    }
}

async fn read_slots(target: &Target, address: &Address) -> Option<Slots> {
    let mut socket = connect::open(target, Some(address)).await.ok()?;
    let reply = socket::ask(&mut socket, &["CLUSTER", "SLOTS"]).await.ok()?;
    let slots = Slots::read(&reply, address)?;
    // While a failover is under way a master may be missing; what is known is better than a hole.
    (0..SLOTS).any(|slot| slots.master(slot).is_some()).then_some(slots)
}
