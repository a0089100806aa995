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

/// Ready once it has reached Redis, all masters of a cluster: the first requests would find it connecting.
pub(super) async fn is_ready(layout: &Layout, client: &reqwest::Client) -> bool {
    let Ok(answer) = client.get(layout.bridge_url() + "/healthz").send().await else { return false };
    answer.text().await.is_ok_and(|health| health.contains(r#""redis":"up""#))
}
