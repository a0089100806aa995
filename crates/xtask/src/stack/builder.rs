//! What one may wish for when starting a stack.

use super::layout::Layout;
use super::port::Port;
use super::{Part, Secrets, Stack, built, start};
use crate::build::Variant;
use anyhow::{Context, Result, anyhow};
use sluice::config::{self, Fault};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// When Redis writes its append-only file to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AppendFsync {
    /// Before it answers: what was acknowledged survives a crash of the machine.
    #[default]
    Always,
    /// Each second.
    EverySecond,
    /// When the kernel likes to. Survives a kill of the process all the same.
    No,
}

impl AppendFsync {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::EverySecond => "everysec",
            Self::No => "no",
        }
    }
}

/// What runs the Worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runner {
    /// `workerd serve`: quick, and nothing between client and Worker.
    #[default]
    Workerd,
    /// `wrangler dev`: what a developer uses; rebuilds when the source changes.
    Wrangler,
}

/// Gets the name of a process and a line that it printed.
pub type Listener = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Where the processes' output goes, besides a file per process.
#[derive(Clone, Default)]
pub enum Output {
    /// Nowhere else.
    #[default]
    Files,
    /// Each line to a function that gets the process' name and the line.
    Lines(Listener),
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "Files",
            Self::Lines(_) => "Lines",
        })
    }
}

/// Ports that were asked for; any other is taken from those that are free.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ports {
    /// redis-server
    pub redis: Option<u16>,
    /// The bridge.
    pub bridge: Option<u16>,
    /// The origin.
    pub origin: Option<u16>,
    /// The origin's listener for operators.
    pub admin: Option<u16>,
    /// The Worker.
    pub worker: Option<u16>,
}

/// The options of a stack. Anything not said is as a test wants it: all parts, free ports, a temporary folder.
#[derive(Debug, Clone)]
pub struct Builder {
    pub(super) parts: BTreeSet<Part>,
    pub(super) variant: Variant,
    pub(super) runner: Runner,
    pub(super) partitions: u16,
    pub(super) masters: usize,
    pub(super) appendfsync: AppendFsync,
    pub(super) redis_url: Option<String>,
    pub(super) database_url: Option<String>,
    pub(super) bindings: BTreeMap<String, String>,
    pub(super) kv: Option<String>,
    pub(super) analytics: Option<String>,
    pub(super) flood: Option<u32>,
    pub(super) origin_arguments: Vec<String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) ports: Ports,
    pub(super) secrets: Option<Secrets>,
    pub(super) output: Output,
    pub(super) built: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            parts: Part::ALL.into(),
            variant: Variant::default(),
            runner: Runner::default(),
            partitions: 1,
            masters: 1,
            appendfsync: AppendFsync::default(),
            redis_url: None,
            database_url: None,
            bindings: BTreeMap::new(),
            kv: None,
            analytics: None,
            flood: None,
            origin_arguments: Vec::new(),
            folder: None,
            ports: Ports::default(),
            secrets: None,
            output: Output::default(),
            built: false,
        }
    }
}

impl Builder {
    /// Only these parts.
    #[must_use]
    pub fn only(mut self, parts: &[Part]) -> Self {
        self.parts = parts.iter().copied().collect();
        self
    }

    /// All but this part.
    #[must_use]
    pub fn without(mut self, part: Part) -> Self {
        self.parts.remove(&part);
        self
    }

    /// Which build of the edge runs.
    #[must_use]
    pub fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// What runs it.
    #[must_use]
    pub fn runner(mut self, runner: Runner) -> Self {
        self.runner = runner;
        self
    }

    /// A Redis that runs already, by an address that the bridge takes; the stack starts none.
    #[must_use]
    pub fn redis_at(mut self, url: &str) -> Self {
        self.redis_url = Some(url.to_owned());
        self.without(Part::Redis)
    }

    /// A database that is there already, by its URL, in place of an SQLite file of the stack's own.
    #[must_use]
    pub fn database_at(mut self, url: &str) -> Self {
        self.database_url = Some(url.to_owned());
        self
    }

    /// A Redis Cluster of so many masters in place of one Redis, and 16 partitions. Whatever is done to
    /// [`Part::Redis`] is then done to all masters.
    #[must_use]
    pub fn cluster(mut self, masters: usize) -> Self {
        self.masters = masters;
        self.partitions(16)
    }

    /// How many partitions gate and origin have.
    #[must_use]
    pub fn partitions(mut self, partitions: u16) -> Self {
        self.partitions = partitions;
        self
    }

    /// When Redis writes to disk.
    #[must_use]
    pub fn appendfsync(mut self, when: AppendFsync) -> Self {
        self.appendfsync = when;
        self
    }

    /// A text binding of the Worker: one more, or another value for one that the stack sets.
    #[must_use]
    pub fn binding(mut self, name: &str, value: &str) -> Self {
        self.bindings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A KV namespace for the binding `GATE`: the address of a service that speaks KV's protocol. Under workerd only.
    #[must_use]
    pub fn kv(mut self, address: &str) -> Self {
        self.kv = Some(address.to_owned());
        self
    }

    /// A stand-in for the platform's rate limit in the binding `FLOOD`: so many requests a key. Under workerd only.
    #[must_use]
    pub fn flood(mut self, most: u32) -> Self {
        self.flood = Some(most);
        self
    }

    /// The gate's configuration, written as gate.toml is, in place of the one that is built in.
    ///
    /// # Errors
    /// Every fault in it.
    pub fn gate_toml(self, text: &str) -> Result<Self> {
        let all = |faults: Vec<Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let json = config::Gate::to_json(text).map_err(|faults| anyhow!(all(faults)))?;
        Ok(self.binding("SLUICE_GATE_JSON", &json))
    }

    /// A service that gets what the Worker writes to the Analytics Engine binding `ANALYTICS`. Under workerd only.
    #[must_use]
    pub fn analytics(mut self, address: &str) -> Self {
        self.analytics = Some(address.to_owned());
        self
    }

    /// One more argument for `sluice-origin serve`.
    #[must_use]
    pub fn origin_argument(mut self, argument: &str) -> Self {
        self.origin_arguments.push(argument.to_owned());
        self
    }

    /// A folder that is kept, instead of a temporary one.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Given ports.
    #[must_use]
    pub fn ports(mut self, ports: Ports) -> Self {
        self.ports = ports;
        self
    }

    /// Given secrets.
    #[must_use]
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Where output goes.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Says that everything is built already.
    #[must_use]
    pub fn already_built(mut self) -> Self {
        self.built = true;
        self
    }

    /// Builds what is missing, starts the parts one after another and returns when the last one answers.
    ///
    /// # Errors
    /// When something cannot be built or started; the message shows the end of the log.
    pub async fn start(self) -> Result<Stack> {
        if !self.built {
            let variant = self.variant;
            tokio::task::spawn_blocking(move || built::ensure_built(variant)).await??;
        }
        start::all(self).await
    }

    pub(super) fn layout(&self) -> Result<(Layout, Option<tempfile::TempDir>)> {
        let (folder, temporary) = match &self.folder {
            Some(folder) => (folder.clone(), None),
            None => {
                let made = tempfile::Builder::new().prefix("sluice-").tempdir()?;
                (made.path().to_path_buf(), Some(made))
            }
        };
        for name in ["logs", "redis", "worker"] {
            let path = folder.join(name);
            std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        let port = |wish: Option<u16>| wish.map_or_else(Port::reserve, |n| Ok(Port::fixed(n)));
        let layout = Layout {
            folder,
            secrets: self.secrets.clone().map_or_else(Secrets::random, Ok)?,
            ports: super::layout::Ports {
                redis: port(self.ports.redis)?,
                bridge: port(self.ports.bridge)?,
                origin: port(self.ports.origin)?,
                admin: port(self.ports.admin)?,
                worker: port(self.ports.worker)?,
            },
            variant: self.variant,
            runner: self.runner,
            partitions: self.partitions,
            appendfsync: self.appendfsync,
            redis_url: self.redis_url.clone(),
            database_url: self.database_url.clone(),
            bindings: self.bindings.clone(),
            kv: self.kv.clone(),
            analytics: self.analytics.clone(),
            flood: self.flood,
            origin_arguments: self.origin_arguments.clone(),
            output: self.output.clone(),
        };
        Ok((layout, temporary))
    }
}
