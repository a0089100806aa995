//! Where the parts of one stack are and what they know of each other.

use super::builder::{AppendFsync, Output, Runner};
use super::{Part, Port, Secrets};
use crate::build::Variant;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The ports that a stack really uses.
#[derive(Debug, Clone)]
pub(super) struct Ports {
    pub(super) redis: Port,
    pub(super) bridge: Port,
    pub(super) origin: Port,
    pub(super) admin: Port,
    pub(super) worker: Port,
}

/// Everything that a part is started with.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(super) folder: PathBuf,
    pub(super) secrets: Secrets,
    pub(super) ports: Ports,
    pub(super) variant: Variant,
    pub(super) runner: Runner,
    pub(super) partitions: u16,
    pub(super) appendfsync: AppendFsync,
    pub(super) redis_url: Option<String>,
    pub(super) database_url: Option<String>,
    pub(super) bindings: BTreeMap<String, String>,
    pub(super) kv: Option<String>,
    pub(super) analytics: Option<String>,
    pub(super) flood: Option<u32>,
    pub(super) origin_arguments: Vec<String>,
    pub(super) output: Output,
}

impl Layout {
    /// Where clients find the Worker. wrangler prints `localhost`, so people see that.
    #[must_use]
    pub fn edge_url(&self) -> String {
        match self.runner {
            Runner::Wrangler => format!("http://localhost:{}", self.ports.worker.number()),
            Runner::Workerd => loopback(&self.ports.worker),
        }
    }

    /// Where the Worker finds the origin.
    #[must_use]
    pub fn origin_url(&self) -> String {
        loopback(&self.ports.origin)
    }

    /// The origin's listener for operators.
    #[must_use]
    pub fn admin_url(&self) -> String {
        loopback(&self.ports.admin)
    }

    /// Redis over REST.
    #[must_use]
    pub fn bridge_url(&self) -> String {
        loopback(&self.ports.bridge)
    }

    /// Redis by its own protocol.
    #[must_use]
    pub fn redis_url(&self) -> String {
        self.redis_url.clone().unwrap_or_else(|| format!("redis://{}", address(&self.ports.redis)))
    }

    /// The origin's SQL database.
    #[must_use]
    pub fn database_url(&self) -> String {
        let file = || format!("sqlite://{}?mode=rwc", self.folder.join("origin.sqlite").display());
        self.database_url.clone().unwrap_or_else(file)
    }

    /// The text bindings of the Worker.
    #[must_use]
    pub fn bindings(&self) -> BTreeMap<String, String> {
        let own = [
            ("UPSTASH_REDIS_REST_URL", self.bridge_url()),
            ("UPSTASH_REDIS_REST_TOKEN", self.secrets.bridge.clone()),
            ("ORIGIN_URL", self.origin_url()),
            ("USER_JWT_SECRET", self.secrets.user_jwt.clone()),
            ("ORDER_TOKEN_SECRET", self.secrets.order_token.clone()),
            ("ASSERTION_SECRET", self.secrets.assertion.clone()),
            ("SLUICE_PARTITIONS", self.partitions.to_string()),
        ];
        let mut all: BTreeMap<String, String> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        all.extend(self.bindings.clone());
        all
    }

    pub(super) fn ports_of(&mut self, part: Part) -> Vec<&mut Port> {
        match part {
            Part::Redis => vec![&mut self.ports.redis],
            Part::Bridge => vec![&mut self.ports.bridge],
            Part::Origin => vec![&mut self.ports.origin, &mut self.ports.admin],
            Part::Worker => vec![&mut self.ports.worker],
        }
    }

    /// Gives a part other ports, where it did not ask for certain ones. False when it did.
    pub(super) fn move_away(&mut self, part: Part) -> Result<bool> {
        let mut moved = false;
        for port in self.ports_of(part) {
            if !port.is_fixed() {
                *port = Port::reserve()?;
                moved = true;
            }
        }
        Ok(moved)
    }

    pub(super) fn with_origin_ports(&self, origin: Port, admin: Port) -> Self {
        let mut layout = self.clone();
        layout.ports.origin = origin;
        layout.ports.admin = admin;
        layout
    }
}

/// `127.0.0.1:port`
pub(super) fn address(port: &Port) -> String {
    format!("127.0.0.1:{}", port.number())
}

fn loopback(port: &Port) -> String {
    format!("http://{}", address(port))
}
