//! A whole Sluice, started for real: redis-server, bridge, origin and Worker, each a process of its own.
//!
//! Every stack has its own ports, folder and secrets, so any number may run at once; all of it stops when the
//! [`Stack`] is dropped, and also when the process that holds it is killed. Tests kill, pause and restart single parts.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use xtask::stack::{Part, Sale, Stack};
//! let stack = Stack::start().await?;
//! stack.create_sale(&Sale::new("demo", 100)).await?;
//! stack.kill(Part::Origin)?;
//! stack.restart(Part::Origin).await?;
//! println!("{}", stack.edge_url());
//! # Ok(()) }
//! ```

mod bridge;
mod builder;
mod built;
mod cluster;
mod guard;
mod layout;
mod origin;
mod part;
mod port;
mod process;
mod redis;
mod sale;
mod secrets;
mod sql;
mod start;
mod worker;

pub use builder::{AppendFsync, Builder, Listener, Output, Ports, Runner};
pub use built::ensure_built;
pub use cluster::Cluster;
pub use layout::Layout;
pub use part::Part;
pub use port::{Port, is_free};
pub use process::{Process, Spec};
pub use sale::Sale;
pub use secrets::Secrets;
pub use sql::{Kind as SqlKind, SqlServer};
pub(crate) use worker::quoted;

use anyhow::{Context, Result};
use guard::Guard;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A running stack. Dropping it stops everything that it started.
#[derive(Debug)]
pub struct Stack {
    layout: Layout,
    parts: BTreeMap<Part, Process>,
    /// In place of [`Part::Redis`].
    cluster: Option<Cluster>,
    /// Origins beyond the first, by [`Stack::another_origin`].
    others: Mutex<Vec<Port>>,
    guard: Arc<Guard>,
    /// Last, so that the folder outlives the processes that write to it.
    _folder: Option<tempfile::TempDir>,
}

impl Stack {
    /// Starts a stack with all parts and no special wishes.
    ///
    /// # Errors
    /// When something cannot be built or started; the message shows the end of the log.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// A stack with options.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Everything that the parts were started with.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The secrets that the parts share.
    #[must_use]
    pub fn secrets(&self) -> &Secrets {
        &self.layout.secrets
    }

    /// Where clients find the Worker, without a slash at the end.
    #[must_use]
    pub fn edge_url(&self) -> String {
        self.layout.edge_url()
    }

    /// Where the Worker finds the origin.
    #[must_use]
    pub fn origin_url(&self) -> String {
        self.layout.origin_url()
    }

    /// The origin's listener for operators.
    #[must_use]
    pub fn admin_url(&self) -> String {
        self.layout.admin_url()
    }

    /// Redis over REST.
    #[must_use]
    pub fn bridge_url(&self) -> String {
        self.layout.bridge_url()
    }

    /// The masters, where Redis is a cluster.
    #[must_use]
    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// Redis by its own protocol.
    #[must_use]
    pub fn redis_url(&self) -> String {
        self.layout.redis_url()
    }

    /// The origin's SQL database.
    #[must_use]
    pub fn database_url(&self) -> String {
        self.layout.database_url()
    }

    /// The folder of this stack: data, logs, configuration.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.layout.folder
    }

    /// One of the processes.
    ///
    /// # Errors
    /// When the stack was started without this part.
    pub fn process(&self, part: Part) -> Result<&Process> {
        self.parts.get(&part).with_context(|| format!("this stack has no {part}"))
    }

    /// The processes of a part: all masters, where Redis is a cluster.
    fn each(&self, part: Part) -> Result<Vec<&Process>> {
        match &self.cluster {
            Some(cluster) if part == Part::Redis => Ok(cluster.processes().collect()),
            _ => Ok(vec![self.process(part)?]),
        }
    }

    /// All processes, in the order in which they were started.
    pub fn processes(&self) -> impl Iterator<Item = (Part, &Process)> {
        self.parts.iter().map(|(part, process)| (*part, process))
    }

    /// The ends of all logs.
    #[must_use]
    pub fn logs(&self) -> String {
        let tail = |process: &Process| format!("--- {}\n{}\n", process.name(), process.log_tail());
        let masters = self.cluster.iter().flat_map(Cluster::processes);
        self.parts.values().chain(masters).map(tail).collect()
    }

    /// Kills a part with SIGKILL, as a crash would.
    ///
    /// # Errors
    /// When the stack has no such part.
    pub fn kill(&self, part: Part) -> Result<()> {
        self.each(part)?.into_iter().for_each(Process::kill);
        Ok(())
    }

    /// Asks a part to stop (SIGTERM), and kills it when it does not.
    ///
    /// # Errors
    /// When the stack has no such part.
    pub fn stop(&self, part: Part) -> Result<()> {
        self.each(part)?.into_iter().for_each(Process::stop);
        Ok(())
    }

    /// Freezes a part (SIGSTOP): it keeps its connections and answers nothing.
    ///
    /// # Errors
    /// When the stack has no such part, or it does not run.
    pub fn pause(&self, part: Part) -> Result<()> {
        self.each(part)?.into_iter().try_for_each(Process::pause)
    }

    /// Lets a frozen part go on.
    ///
    /// # Errors
    /// When the stack has no such part, or it does not run.
    pub fn resume(&self, part: Part) -> Result<()> {
        self.each(part)?.into_iter().try_for_each(Process::resume)
    }

    /// Starts a part again on the same port and folder, stopping it first when it still runs. Returns when it is ready.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart(&self, part: Part) -> Result<()> {
        self.stop(part)?;
        self.each(part)?.into_iter().try_for_each(Process::spawn)?;
        self.until_ready(part).await
    }

    /// Waits until a part answers, for example after [`Process::spawn`].
    ///
    /// # Errors
    /// When it exits or the deadline passes.
    pub async fn until_ready(&self, part: Part) -> Result<()> {
        match &self.cluster {
            Some(cluster) if part == Part::Redis => cluster.until_ready().await,
            _ => start::until_ready(part, self.process(part)?, &self.layout).await,
        }
    }

    /// One more origin on the same Redis and SQL, on ports of its own. It stops when it is dropped.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn another_origin(&self) -> Result<(Process, String)> {
        let (port, admin) = (Port::reserve()?, Port::reserve()?);
        let layout = self.layout.with_origin_ports(port.clone(), admin.clone());
        let name = format!("origin-{}", layout.ports.origin.number());
        let process = Process::new(&name, origin::spec(&layout, &name)?, &layout, &self.guard);
        process.spawn()?;
        start::until_ready(Part::Origin, &process, &layout).await?;
        let url = layout.origin_url();
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.extend([port, admin]);
        Ok((process, url))
    }

    /// One more process of any kind, started at once. It logs beside the parts and stops when it is dropped.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn beside(&self, name: &str, spec: Spec) -> Result<Process> {
        let process = Process::new(name, spec, &self.layout, &self.guard);
        process.spawn()?;
        Ok(process)
    }

    /// Creates a sale with `sluice-origin sale create`.
    ///
    /// # Errors
    /// When the tool refuses; the message holds what it printed.
    pub async fn create_sale(&self, sale: &Sale) -> Result<()> {
        let command = sale.create(&self.layout)?;
        origin::tool(command).await.map(drop)
    }

    /// Runs `sluice-origin` with this stack's Redis and SQL and returns what it printed.
    ///
    /// # Errors
    /// When it fails; the message holds what it printed.
    pub async fn origin_tool(&self, arguments: &[&str]) -> Result<String> {
        let mut command = origin::command(&self.layout)?;
        command.args(arguments);
        origin::tool(command).await
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // The edge first and Redis last: nobody is asked for what has gone already.
        for process in self.parts.values().rev() {
            process.stop();
        }
    }
}
