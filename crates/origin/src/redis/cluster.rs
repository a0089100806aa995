//! A Redis Cluster: which master has a partition, kept up to date behind the requests.

use std::sync::Arc;
use std::time::Duration;

use ::redis::RedisError;
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::RedisFault;
use super::masters::Masters;
use super::node::{CONNECT, Node};
use super::redirection::Address;
use super::routes::Routes;

/// How often the slots are read even if nothing seems wrong.
const REFRESH: Duration = Duration::from_secs(10);
/// The pause between two readings.
const PAUSE: Duration = Duration::from_millis(200);

/// What is known about the slots.
#[derive(Clone)]
enum Known {
    /// The first reading is under way.
    Nothing,
    /// No server has told yet.
    Unreachable,
    Routes(Arc<Routes>),
}

/// The masters, and who has what.
pub(super) struct Cluster {
    masters: Arc<Masters>,
    known: watch::Receiver<Known>,
    /// Told when a reply, or none, shows that the slots may have moved.
    stale: Arc<Notify>,
    keeper: JoinHandle<()>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Cluster {
    /// Begins to ask the servers in a cluster's address for the slots. `None` for the address of a single server.
    pub(super) fn start(url: &str, keys: &Keyspace) -> Result<Option<Self>, RedisError> {
        let Some(masters) = Masters::parse(url, keys)?.map(Arc::new) else { return Ok(None) };
        let (sender, known) = watch::channel(Known::Nothing);
        let stale = Arc::new(Notify::new());
        let keeper = tokio::spawn(keep(Arc::clone(&masters), sender, Arc::clone(&stale)));
        Ok(Some(Self { masters, known, stale, keeper }))
    }

    /// The master of a partition. Waits for the first reading only.
    pub(super) async fn master(&self, p: Partition) -> Result<(Address, Arc<Node>), RedisFault> {
        let routes = self.routes().await?;
        let none = || RedisFault::Unsent("no master serves the partition".to_owned());
        let address = routes.master(p).ok_or_else(none)?;
        Ok((address.clone(), self.node(address)?))
    }

    /// Every master that serves a partition, and which.
    pub(super) async fn masters(&self) -> Result<Vec<(Vec<Partition>, Arc<Node>)>, RedisFault> {
        let routes = self.routes().await?;
        routes.serving().into_iter().map(|(address, served)| Ok((served, self.node(&address)?))).collect()
    }

    /// The server at an address.
    pub(super) fn node(&self, address: &Address) -> Result<Arc<Node>, RedisFault> {
        self.masters.node(address)
    }

    /// The slots may have moved.
    pub(super) fn suspect(&self) {
        self.stale.notify_one();
    }

    async fn routes(&self) -> Result<Arc<Routes>, RedisFault> {
        let known = self.known.borrow().clone();
        let known = match known {
            Known::Nothing => {
                let mut receiver = self.known.clone();
                let read = receiver.wait_for(|known| !matches!(known, Known::Nothing));
                match timeout(CONNECT, read).await {
                    Ok(Ok(known)) => known.clone(),
                    _ => Known::Nothing,
                }
            }
            known => known,
        };
        match known {
            Known::Routes(routes) => Ok(routes),
            _ => Err(RedisFault::Unsent("no server of the cluster tells its slots".to_owned())),
        }
    }
}

/// Reads the slots again and again. Who told last is asked first.
async fn keep(masters: Arc<Masters>, known: watch::Sender<Known>, stale: Arc<Notify>) {
    let mut told: Option<Address> = None;
    let mut routes: Option<Arc<Routes>> = None;
    loop {
        let others = routes.iter().flat_map(|routes| routes.masters());
        let asked: Vec<Address> = told.iter().chain(others).cloned().chain(masters.seeds()).collect();
        let mut read = None;
        for address in asked {
            match timeout(CONNECT, masters.routes(&address)).await {
                Ok(Ok(routes)) => {
                    told = Some(address);
                    read = Some(Arc::new(routes));
                    break;
                }
                Ok(Err(error)) => tracing::debug!(?address, %error, "a server does not tell the slots"),
                Err(_) => tracing::debug!(?address, "a server does not tell the slots in time"),
            }
        }
        match read {
            Some(read) => {
                masters.adopt(routes.as_deref(), &read).await;
                known.send_replace(Known::Routes(Arc::clone(&read)));
                routes = Some(read);
            }
            // Routes that were known once are better than none.
            None if routes.is_none() => {
                tracing::warn!("no server of the cluster tells its slots");
                known.send_replace(Known::Unreachable);
            }
            None => {}
        }
        sleep(PAUSE).await;
        if routes.is_some() {
            let _ = timeout(REFRESH, stale.notified()).await;
        }
    }
}
