//! The origin, as a server and as a tool.

use super::layout::{Layout, address};
use super::process::Spec;
use crate::{command, paths};
use anyhow::Result;
use std::ffi::OsString;
use std::process::Command;

/// The server. `consumer` is its name in the consumer groups: the same after a restart, shared with no other origin.
pub(super) fn spec(layout: &Layout, consumer: &str) -> Result<Spec> {
    let mut arguments = vec![OsString::from("serve")];
    arguments.extend(layout.origin_arguments.iter().map(OsString::from));
    let mut environment = shared(layout);
    environment.extend(
        [
            ("ORIGIN_LISTEN", address(&layout.ports.origin)),
            ("ORIGIN_ADMIN_LISTEN", address(&layout.ports.admin)),
            ("ASSERTION_SECRET", layout.secrets.assertion.clone()),
            ("PAYMENT_SECRET", layout.secrets.payment.clone()),
            ("ORIGIN_CONSUMER", consumer.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value.into())),
    );
    Ok(Spec { program: paths::binary("sluice-origin")?, arguments, environment, folder: layout.folder.clone() })
}

/// `sluice-origin` as a tool on the Redis and SQL of this stack, still without its arguments.
pub(super) fn command(layout: &Layout) -> Result<Command> {
    let mut command = Command::new(paths::binary("sluice-origin")?);
    command.envs(shared(layout)).current_dir(&layout.folder);
    Ok(command)
}

/// Runs such a tool and returns what it printed.
pub(super) async fn tool(mut tool: Command) -> Result<String> {
    tokio::task::spawn_blocking(move || command::capture(&mut tool)).await?
}

fn shared(layout: &Layout) -> Vec<(String, OsString)> {
    [
        ("REDIS_URL", layout.redis_url()),
        ("DATABASE_URL", layout.database_url()),
        ("ORIGIN_PARTITIONS", layout.partitions.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value.into()))
    .into()
}
