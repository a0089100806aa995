//! Starting the parts one after another, each only when the one before it answers.

use super::builder::{Builder, Runner};
use super::guard::Guard;
use super::layout::Layout;
use super::process::{Process, Spec};
use super::{Cluster, Part, Stack, bridge, origin, redis, worker};
use crate::clock;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a part may take from start to first answer. Generous: a busy two-core machine is slow.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// The same under `wrangler dev`, which first runs `cargo xtask build` and may wait for another cargo.
const WRANGLER_READY_LIMIT: Duration = Duration::from_secs(300);

/// How often another port is tried.
const PORT_TRIES: usize = 5;

pub(super) async fn all(builder: Builder) -> Result<Stack> {
    let (mut layout, folder) = builder.layout()?;
    let guard = Arc::new(Guard::start()?);
    let mut cluster = None;
    if builder.masters > 1 && builder.parts.contains(&Part::Redis) {
        let masters = Cluster::inside(builder.masters, &layout, &guard).await?;
        layout.redis_url = Some(masters.url());
        cluster = Some(masters);
    }
    let mut stack = Stack { layout, parts: BTreeMap::new(), cluster, others: Mutex::default(), guard, _folder: folder };
    for part in Part::ALL {
        let started = part == Part::Redis && stack.cluster.is_some();
        if builder.parts.contains(&part) && !started {
            let process = one(part, &mut stack.layout, &stack.guard).await?;
            stack.parts.insert(part, process);
        }
    }
    Ok(stack)
}

async fn one(part: Part, layout: &mut Layout, guard: &Arc<Guard>) -> Result<Process> {
    for _ in 1..PORT_TRIES {
        let process = Process::new(part.name(), spec(part, layout)?, layout, guard);
        process.spawn()?;
        match until_ready(part, &process, layout).await {
            Ok(()) => return Ok(process),
            Err(error) => {
                let taken = port_was_taken(&process.log_tail());
                if !(taken && layout.move_away(part)?) {
                    return Err(error);
                }
            }
        }
    }
    bail!("{part}: every port that was free a moment ago is taken")
}

fn port_was_taken(log: &str) -> bool {
    log.to_lowercase().contains("address already in use")
}

fn spec(part: Part, layout: &Layout) -> Result<Spec> {
    match part {
        Part::Redis => redis::spec(layout),
        Part::Bridge => bridge::spec(layout),
        Part::Origin => origin::spec(layout, part.name()),
        Part::Worker => worker::spec(layout),
    }
}

/// Waits until the part answers; fails as soon as its process ends.
pub(super) async fn until_ready(part: Part, process: &Process, layout: &Layout) -> Result<()> {
    let limit = match (part, layout.runner) {
        (Part::Worker, Runner::Wrangler) => WRANGLER_READY_LIMIT,
        _ => READY_LIMIT,
    };
    let deadline = clock::now() + limit;
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
    loop {
        // Asked first and last: an answer counts only when it can be that of our own process.
        let answered = process.is_running() && is_ready(part, layout, &client).await;
        if !process.is_running() {
            bail!("{} stopped while starting:\n{}", process.name(), process.log_tail());
        }
        if answered {
            return Ok(());
        }
        if clock::now() >= deadline {
            bail!("{} does not answer after {}:\n{}", process.name(), clock::human(limit), process.log_tail());
        }
        tokio::time::sleep(clock::POLL).await;
    }
}

async fn is_ready(part: Part, layout: &Layout, client: &reqwest::Client) -> bool {
    let url = match part {
        Part::Redis => return redis::is_ready(layout).await,
        Part::Bridge => return bridge::is_ready(layout, client).await,
        Part::Origin => layout.origin_url() + "/readyz",
        Part::Worker => layout.edge_url() + "/healthz",
    };
    let answer = client.get(url).send().await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_servers_words_for_a_taken_port_are_known() {
        assert!(port_was_taken("bind: Address already in use"));
        assert!(port_was_taken("Address already in use (os error 98)"));
        assert!(!port_was_taken("connection refused"));
    }
}
