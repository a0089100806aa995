//! redis-server: a port and a folder of its own, nothing of the system's configuration.

use super::layout::{Layout, address};
use super::process::Spec;
use crate::tools;
use anyhow::Result;
use std::ffi::OsString;

pub(super) fn spec(layout: &Layout) -> Result<Spec> {
    let folder = layout.folder.join("redis");
    let port = layout.ports.redis.number().to_string();
    let options = [
        ("--port", port.as_str()),
        ("--bind", "127.0.0.1"),
        ("--daemonize", "no"),
        ("--appendonly", "yes"),
        ("--appendfsync", layout.appendfsync.word()),
        // The append-only file is the one record; snapshots would only cost time.
        ("--save", ""),
        // A full Redis must refuse, never forget.
        ("--maxmemory-policy", "noeviction"),
    ];
    let mut arguments: Vec<OsString> = options.iter().flat_map(|(name, value)| [name.into(), value.into()]).collect();
    arguments.extend(["--dir".into(), folder.clone().into_os_string()]);
    Ok(Spec { program: tools::ensure_apt("redis-server")?, arguments, environment: Vec::new(), folder })
}

/// Ready once PING is answered: while it loads its file it refuses everything.
pub(super) async fn is_ready(layout: &Layout) -> bool {
    let url = format!("redis://{}", address(&layout.ports.redis));
    let Ok(client) = redis::Client::open(url) else {
        return false;
    };
    let Ok(mut connection) = client.get_multiplexed_async_connection().await else {
        return false;
    };
    let pong: redis::RedisResult<String> = redis::cmd("PING").query_async(&mut connection).await;
    pong.is_ok()
}
