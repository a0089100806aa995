//! The pages in a real Chromium, against a whole stack under `wrangler dev`, which also serves the assets.

use super::web;
use crate::stack::{Part, Stack};
use crate::{command, console, dev, paths, tools};
use anyhow::{Context, Result, ensure};
use std::process::Command;

pub(super) fn check() -> Result<()> {
    dev::prepare()?;
    let chromium = tools::ensure_apt("chromium")?;
    let tests = web::tests(&paths::root().join("web/browser"))?;
    ensure!(!tests.is_empty(), "no test in web/browser");
    tokio::runtime::Runtime::new()?.block_on(async {
        let step = console::Step::start("starting redis-server, bridge, origin, wrangler dev");
        let stack = dev::builder(&dev::Options::default()).start().await?;
        step.done("done");
        let mut node = command::node("node");
        node.args(["--test", "--test-reporter=spec"]).args(tests).env("SLUICE_CHROMIUM", chromium);
        shop(&mut node, &stack)?;
        let done = tokio::task::spawn_blocking(move || command::run(&mut node)).await?;
        let logs = done.is_err().then(|| stack.logs());
        tokio::task::spawn_blocking(move || drop(stack)).await?;
        done.with_context(|| logs.unwrap_or_default())
    })
}

/// Where everything is. Secrets travel in the environment.
fn shop(node: &mut Command, stack: &Stack) -> Result<()> {
    node.env("SLUICE_EDGE", stack.edge_url())
        .env("SLUICE_USER_SECRET", &stack.secrets().user_jwt)
        .env("SLUICE_ORIGIN", paths::binary("sluice-origin")?)
        .env("REDIS_URL", stack.redis_url())
        .env("DATABASE_URL", stack.database_url())
        .current_dir(stack.folder());
    stack.process(Part::Worker).map(drop)
}
