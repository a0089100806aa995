//! The bridge: Redis over REST.

use super::layout::{Layout, address};
use super::process::Spec;
use crate::paths;
use anyhow::Result;

pub(super) fn spec(layout: &Layout) -> Result<Spec> {
    let environment = [
        ("SLUICE_BRIDGE_LISTEN", address(&layout.ports.bridge)),
        ("SLUICE_BRIDGE_REDIS", layout.redis_url()),
        ("SLUICE_BRIDGE_TOKEN", layout.secrets.bridge.clone()),
    ];
    Ok(Spec {
        program: paths::binary("sluice-bridge")?,
        arguments: Vec::new(),
        environment: environment.map(|(name, value)| (name.to_owned(), value.into())).into(),
        folder: layout.folder.clone(),
    })
}
