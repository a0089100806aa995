//! The Worker: the built bundle in workerd, or under `wrangler dev`.

use super::builder::Runner;
use super::layout::{Layout, address};
use super::process::Spec;
use super::secrets::private_file;
use crate::{command, deploy, paths};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;

pub(super) fn spec(layout: &Layout) -> Result<Spec> {
    match layout.runner {
        Runner::Workerd => workerd(layout),
        Runner::Wrangler => wrangler(layout),
    }
}

/// The bundle is copied beside the configuration: a build meanwhile must not change what a test runs.
fn workerd(layout: &Layout) -> Result<Spec> {
    let folder = layout.folder.join("worker");
    for name in ["worker.js", "sluice_bg.wasm"] {
        let from = layout.variant.output().join(name);
        fs::copy(&from, folder.join(name)).with_context(|| format!("{} is not built", from.display()))?;
    }
    let config = folder.join("config.capnp");
    private_file(&config, &configuration(layout)?)?;
    let mut arguments = vec!["serve".into(), config.into_os_string()];
    // workerd forwards Analytics Engine's events as an experiment only.
    arguments.extend(layout.analytics.iter().map(|_| "--experimental".into()));
    Ok(Spec {
        program: paths::root().join("node_modules/workerd/bin/workerd"),
        arguments,
        environment: Vec::new(),
        folder,
    })
}

fn configuration(layout: &Layout) -> Result<String> {
    let mut bindings = String::new();
    for (name, value) in layout.bindings() {
        writeln!(bindings, "    (name = {}, text = {}),", quoted(&name), quoted(&value))?;
    }
    let mut services = String::new();
    if let Some(address) = &layout.kv {
        writeln!(bindings, "    (name = \"GATE\", kvNamespace = \"kv\"),")?;
        writeln!(services, "    (name = \"kv\", external = (address = {}, http = ())),", quoted(address))?;
    }
    let mut workers = String::new();
    if let Some(most) = layout.flood {
        writeln!(bindings, "    (name = \"FLOOD\", service = \"flood\"),")?;
        writeln!(services, "    (name = \"flood\", worker = .flood),")?;
        workers = flood(most, &deploy::compatibility_date()?);
    }
    if let Some(address) = &layout.analytics {
        writeln!(bindings, "    (name = \"ANALYTICS\", analyticsEngine = \"analytics\"),")?;
        writeln!(services, "    (name = \"analytics\", external = (address = {}, http = ())),", quoted(address))?;
    }
    let date = deploy::compatibility_date()?;
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
{services}  ],
  sockets = [(name = "http", address = "{address}", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "sluice_bg.wasm", wasm = embed "sluice_bg.wasm"),
  ],
  compatibilityDate = {date},
  bindings = [
{bindings}  ],
);
{workers}"#,
        address = address(&layout.ports.worker),
        date = quoted(&date),
    ))
}

/// What the platform's rate limit looks like to a Worker, without its clock.
fn flood(most: u32, date: &str) -> String {
    let script = format!(
        "import {{ WorkerEntrypoint }} from 'cloudflare:workers';
const seen = new Map();
export default class extends WorkerEntrypoint {{
  limit({{ key }}) {{
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return {{ success: count <= {most} }};
  }}
}}"
    );
    let (script, date) = (quoted(&script), quoted(date));
    format!(
        "
const flood :Workerd.Worker = (
  modules = [(name = \"flood.js\", esModule = {script})],
  compatibilityDate = {date},
);
"
    )
}

/// A string of Cap'n Proto's text format.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn wrangler(layout: &Layout) -> Result<Spec> {
    let folder = layout.folder.join("worker");
    let variables = folder.join("variables.env");
    let mut text = String::new();
    for (name, value) in layout.bindings() {
        writeln!(text, "{name}={}", quoted(&value))?;
    }
    private_file(&variables, &text)?;
    let arguments = [
        "dev".into(),
        "--local".into(),
        "--ip=127.0.0.1".into(),
        format!("--port={}", layout.ports.worker.number()).into(),
        "--inspector-port=0".into(),
        "--show-interactive-dev-session=false".into(),
        "--persist-to".into(),
        folder.join("state").into_os_string(),
        "--env-file".into(),
        variables.into_os_string(),
    ];
    Ok(Spec {
        program: paths::node_bin().join("wrangler"),
        arguments: arguments.into(),
        environment: vec![
            ("PATH".into(), command::path_with_node()),
            ("WRANGLER_SEND_METRICS".into(), "false".into()),
            ("CLOUDFLARE_CF_FETCH_ENABLED".into(), "false".into()),
            ("NO_COLOR".into(), "1".into()),
        ],
        folder: paths::root().to_path_buf(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_for_capnp() {
        assert_eq!(quoted(r#"a"b\c"#), r#""a\"b\\c""#);
        assert_eq!(quoted("two\nlines"), r#""two\nlines""#);
    }
}
