//! The stack that is rushed: the running `cargo xtask dev`, or one of our own.

use super::Options;
use crate::console::{self, Step};
use crate::edge::Edge;
use crate::stack::{self, Sale, Secrets, Stack};
use crate::{clock, command, dev};
use anyhow::Result;
use std::process::Command;

/// Where to send requests, and where the books are.
#[derive(Debug)]
pub(super) enum Target {
    /// Started for this rush, stopped when dropped.
    Own(Box<Stack>),
    /// `cargo xtask dev`.
    Running(Box<dev::Running>, Secrets),
}

impl Target {
    pub(super) async fn find_or_start(options: &Options) -> Result<Self> {
        let running = if options.own { None } else { dev::running()? };
        if let Some(running) = running {
            console::say(&format!("rushing the running stack at {}", running.edge));
            return Ok(Self::Running(Box::new(running), dev::secrets()?));
        }
        tokio::task::spawn_blocking(|| stack::ensure_built(Default::default())).await??;
        let step = Step::start("starting a stack for this rush");
        let stack = Stack::builder().already_built().start().await?;
        step.done("done");
        Ok(Self::Own(Box::new(stack)))
    }

    /// Opens a sale of its own and waits until the edge sees it.
    pub(super) async fn open_sale(&self, stock: u64) -> Result<String> {
        let sku = format!("rush-{}", clock::unix_ms());
        let sale = Sale::new(&sku, stock).title("Rush");
        match self {
            Self::Own(stack) => stack.create_sale(&sale).await?,
            Self::Running(running, _) => create(running, &sale).await?,
        }
        Edge::new(&self.edge())?.until_sellable(&sku).await?;
        Ok(sku)
    }

    pub(super) fn edge(&self) -> String {
        match self {
            Self::Own(stack) => stack.edge_url(),
            Self::Running(running, _) => running.edge.clone(),
        }
    }

    pub(super) fn redis(&self) -> String {
        match self {
            Self::Own(stack) => stack.redis_url(),
            Self::Running(running, _) => running.redis.clone(),
        }
    }

    pub(super) fn database(&self) -> String {
        match self {
            Self::Own(stack) => stack.database_url(),
            Self::Running(running, _) => running.database.clone(),
        }
    }

    pub(super) fn secrets(&self) -> &Secrets {
        match self {
            Self::Own(stack) => stack.secrets(),
            Self::Running(_, secrets) => secrets,
        }
    }

    /// The ends of the logs, where they are ours.
    pub(super) fn logs(&self) -> String {
        match self {
            Self::Own(stack) => stack.logs(),
            Self::Running(..) => "see the output of `cargo xtask dev`".to_owned(),
        }
    }
}

async fn create(running: &dev::Running, sale: &Sale) -> Result<()> {
    let mut command = Command::new(crate::paths::binary("sluice-origin")?);
    command.args(sale.arguments());
    command.env("REDIS_URL", &running.redis).env("DATABASE_URL", &running.database);
    tokio::task::spawn_blocking(move || command::capture(&mut command)).await??;
    Ok(())
}
