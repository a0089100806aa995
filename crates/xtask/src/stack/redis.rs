//! redis-server: a port and a folder of its own, nothing of the system's configuration.

use super::builder::AppendFsync;
use super::layout::{Layout, address};
use super::port::Port;
use super::process::Spec;
use crate::tools;
use anyhow::Result;
use std::ffi::OsString;
use std::path::Path;

pub(super) fn spec(layout: &Layout) -> Result<Spec> {
    spec_on(&layout.ports.redis, &layout.folder.join("redis"), layout.appendfsync)
}

/// On a port, with its data in a folder.
pub(super) fn spec_on(port: &Port, folder: &Path, appendfsync: AppendFsync) -> Result<Spec> {
    let port = port.number().to_string();
    let options = [
        ("--port", port.as_str()),
        ("--bind", "127.0.0.1"),
        ("--daemonize", "no"),
        ("--appendonly", "yes"),
        ("--appendfsync", appendfsync.word()),
        // The append-only file is the one record; snapshots would only cost time.
        ("--save", ""),
        // A full Redis must refuse, never forget.
        ("--maxmemory-policy", "noeviction"),
    ];
    let mut arguments: Vec<OsString> = options.iter().flat_map(|(name, value)| [name.into(), value.into()]).collect();
    arguments.extend(["--dir".into(), folder.as_os_str().to_owned()]);
    let program = tools::ensure_apt("redis-server")?;
    Ok(Spec { program, arguments, environment: Vec::new(), folder: folder.to_owned() })
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
