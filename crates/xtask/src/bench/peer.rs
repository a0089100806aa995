//! The JavaScript contenders: bundled by esbuild, run by the same workerd with the same bindings.

use super::contender::Contender;
use crate::stack::{Layout, Port, Spec, quoted};
use crate::{command, deploy, paths};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The folder of their sources.
const SOURCES: &str = "bench/peers";

/// Bundles a contender's source into `folder` and says how workerd runs it on `port`.
pub(super) fn spec(contender: Contender, source: &str, layout: &Layout, folder: &Path, port: &Port) -> Result<Spec> {
    let folder = folder.join(contender.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    bundle(source, &folder.join("worker.js"))?;
    let config = folder.join("config.capnp");
    fs::write(&config, configuration(contender, layout, port)?)?;
    Ok(Spec {
        program: paths::root().join("node_modules/workerd/bin/workerd"),
        arguments: vec!["serve".into(), config.into_os_string()],
        environment: Vec::new(),
        folder,
    })
}

fn bundle(source: &str, to: &Path) -> Result<()> {
    let mut esbuild = command::node("esbuild");
    esbuild
        .arg(paths::root().join(SOURCES).join(source))
        .args(["--bundle", "--minify", "--format=esm", "--target=es2022", "--conditions=workerd,worker,browser"])
        .args(["--loader:.lua=text", "--external:cloudflare:*"])
        .args(["--legal-comments=none", "--log-level=warning"])
        .arg(format!("--outfile={}", to.display()));
    command::capture(&mut esbuild).map(drop)
}

fn configuration(contender: Contender, layout: &Layout, port: &Port) -> Result<String> {
    let mut bindings = String::new();
    for (name, value) in layout.bindings() {
        writeln!(bindings, "    (name = {}, text = {}),", quoted(&name), quoted(&value))?;
    }
    let mut objects = "";
    if contender == Contender::Objects {
        writeln!(bindings, "    (name = \"BUCKETS\", durableObjectNamespace = \"Bucket\"),")?;
        objects = "  durableObjectNamespaces = [(className = \"Bucket\", uniqueKey = \"bench\")],
  durableObjectStorage = (inMemory = void),
";
    }
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:{port}", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = {date},
  bindings = [
{bindings}  ],
{objects});
"#,
        port = port.number(),
        date = quoted(&deploy::compatibility_date()?),
    ))
}
