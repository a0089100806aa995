//! A Redis Cluster on loopback: masters only, each a redis-server in a folder of its own.

use super::guard::Guard;
use super::layout::Layout;
use super::port::Port;
use super::process::Process;
use super::{Builder, redis};
use crate::clock;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::time::Duration;

/// Slots of a cluster.
const SLOTS: usize = 16_384;
/// How long the masters may take to know each other.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// How long a master may be silent before the others think it dead: longer than any test freezes one.
const SILENCE_MS: &str = "10000";

/// A running cluster. Dropping it stops its masters.
#[derive(Debug)]
pub struct Cluster {
    masters: Vec<Master>,
    _folder: Option<tempfile::TempDir>,
}

#[derive(Debug)]
struct Master {
    port: Port,
    bus: Port,
    process: Process,
}

impl Cluster {
    /// Starts `count` masters that share the slots evenly, and returns when each of them serves. A master that dies
    /// takes its own slots with it and no others.
    ///
    /// # Errors
    /// When one does not start, or they do not find each other.
    pub async fn start(count: usize) -> Result<Self> {
        let (layout, folder) = Builder::default().layout()?;
        let guard = Arc::new(Guard::start()?);
        Ok(Self { _folder: folder, ..Self::inside(count, &layout, &guard).await? })
    }

    /// The same as a part of a stack.
    pub(super) async fn inside(count: usize, layout: &Layout, guard: &Arc<Guard>) -> Result<Self> {
        let mut masters = Vec::with_capacity(count);
        for i in 0..count {
            let (port, bus) = (Port::reserve()?, Port::reserve()?);
            let home = layout.folder.join(format!("master-{i}"));
            std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
            let mut spec = redis::spec_on(&port, &home, layout.appendfsync)?;
            let bus_port = bus.number().to_string();
            let options = [
                ("--cluster-enabled", "yes"),
                ("--cluster-port", bus_port.as_str()),
                ("--cluster-node-timeout", SILENCE_MS),
                ("--cluster-require-full-coverage", "no"),
            ];
            spec.arguments.extend(options.iter().flat_map(|(name, value)| [name.into(), value.into()]));
            let process = Process::new(&format!("master-{i}"), spec, layout, guard);
            process.spawn()?;
            masters.push(Master { port, bus, process });
        }
        let cluster = Self { masters, _folder: None };
        cluster.join().await?;
        Ok(cluster)
    }

    /// The masters as the bridge takes them.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<String> = self.masters.iter().map(|m| format!("127.0.0.1:{}", m.port.number())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Each master by its own protocol, in the order of their slots.
    #[must_use]
    pub fn masters(&self) -> Vec<String> {
        self.masters.iter().map(Master::url).collect()
    }

    /// The index of the master that has a slot.
    #[must_use]
    pub fn master_of(&self, slot: u16) -> usize {
        let count = self.masters.len();
        (0..count).find(|i| usize::from(slot) < SLOTS * (i + 1) / count).unwrap_or(0)
    }

    /// The masters' processes.
    pub(super) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.masters.iter().map(|master| &master.process)
    }

    /// Kills one master with SIGKILL.
    pub fn kill(&self, master: usize) {
        if let Some(master) = self.masters.get(master) {
            master.process.kill();
        }
    }

    async fn join(&self) -> Result<()> {
        let count = self.masters.len();
        for (i, master) in self.masters.iter().enumerate() {
            let (from, to) = (SLOTS * i / count, SLOTS * (i + 1) / count - 1);
            master.until("PING", "PONG").await?;
            master.say(&["CLUSTER", "ADDSLOTSRANGE", &from.to_string(), &to.to_string()]).await?;
            let (port, bus) = (master.port.number().to_string(), master.bus.number().to_string());
            for other in self.masters.iter().take(i) {
                other.say(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await?;
            }
        }
        self.until_ready().await
    }

    /// Waits until each master serves and knows all others.
    pub(super) async fn until_ready(&self) -> Result<()> {
        for master in &self.masters {
            master.until("CLUSTER INFO", &format!("cluster_known_nodes:{}", self.masters.len())).await?;
            master.until("CLUSTER INFO", &format!("cluster_slots_ok:{SLOTS}")).await?;
            master.until("CLUSTER INFO", "cluster_state:ok").await?;
        }
        Ok(())
    }
}

impl Master {
    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port.number())
    }

    async fn say(&self, words: &[&str]) -> Result<String> {
        let client = ::redis::Client::open(self.url())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let (name, rest) = words.split_first().context("no command")?;
        Ok(::redis::cmd(name).arg(rest).query_async(&mut connection).await?)
    }

    /// Asks until the answer holds `wanted`.
    async fn until(&self, command: &str, wanted: &str) -> Result<()> {
        let words: Vec<&str> = command.split(' ').collect();
        let deadline = clock::now() + READY_LIMIT;
        loop {
            if self.say(&words).await.is_ok_and(|answer| answer.contains(wanted)) {
                return Ok(());
            }
            if !self.process.is_running() || clock::now() >= deadline {
                bail!("{} does not come to {wanted}:\n{}", self.process.name(), self.process.log_tail());
            }
            tokio::time::sleep(clock::POLL).await;
        }
    }
}
