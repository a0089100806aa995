//! The pages: `web/shop` to `build/assets`, which the platform serves without asking the Worker.
//!
//! Scripts and styles have a hash of their contents in their names, so they are cached for ever and the page itself never.

use super::stamp::Stamp;
use crate::{command, paths, tools};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All that a visit loads, uncompressed; compressed it is about a third.
const BUDGET: u64 = 60 * 1024;

/// What each answer of the platform's says besides: docs/configuration.md, "Pages".
const HEADERS: &str = "\
/*
  Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
  X-Content-Type-Options: nosniff
  Referrer-Policy: no-referrer
/static/*
  ! Cache-Control
  Cache-Control: public, max-age=31536000, immutable
/
  ! Cache-Control
  Cache-Control: no-store
";

/// What esbuild made, as its metafile says.
#[derive(Deserialize)]
struct Made {
    outputs: BTreeMap<String, Output>,
}

#[derive(Deserialize)]
struct Output {
    bytes: u64,
    #[serde(rename = "entryPoint")]
    entry: Option<String>,
}

/// Where the pages are put, as wrangler.toml says.
pub(super) fn output() -> PathBuf {
    paths::root().join("build/assets")
}

/// Builds the pages; only compares when nothing has changed.
pub(super) fn build() -> Result<()> {
    tools::ensure_node_modules()?;
    let (web, work) = (paths::root().join("web"), paths::target()?.join("edge/pages"));
    let mut inputs = vec![paths::root().join("package-lock.json")];
    for folder in ["client/src", "shop"] {
        inputs.extend(files(&web.join(folder))?);
    }
    let stamp = Stamp::of(&inputs)?;
    let stamp_file = work.join("stamp");
    if stamp.matches(&stamp_file) && output().join("index.html").is_file() {
        return Ok(());
    }
    make(&web, &work)?;
    stamp.write(&stamp_file)
}

fn make(web: &Path, work: &Path) -> Result<()> {
    let fresh = work.join("fresh");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).with_context(|| format!("cannot empty {}", fresh.display()))?;
    }
    fs::create_dir_all(&fresh).with_context(|| format!("cannot make {}", fresh.display()))?;
    let metafile = work.join("made.json");
    let mut esbuild = command::node("esbuild");
    esbuild
        .current_dir(web)
        .args(["shop/main.ts", "shop/style.css", "--bundle", "--minify", "--format=esm", "--target=es2022"])
        .args(["--entry-names=static/[name]-[hash]", "--legal-comments=none", "--log-level=warning"])
        .arg(format!("--outdir={}", fresh.display()))
        .arg(format!("--metafile={}", metafile.display()));
    command::capture(&mut esbuild)?;
    let made = fs::read(&metafile).with_context(|| format!("cannot read {}", metafile.display()))?;
    let made: Made = serde_json::from_slice(&made).context("esbuild's metafile is not as expected")?;

    let mut page = fs::read_to_string(web.join("shop/index.html")).context("cannot read web/shop/index.html")?;
    let mut bytes = page.len() as u64;
    for (path, output) in &made.outputs {
        let (Some(entry), Some(name)) = (&output.entry, Path::new(path).file_name()) else { continue };
        let source = entry.strip_prefix("shop/").unwrap_or(entry);
        let link = format!("\"{source}\"");
        ensure!(page.contains(&link), "web/shop/index.html does not name {source}");
        page = page.replace(&link, &format!("\"/static/{}\"", name.to_string_lossy()));
        bytes += output.bytes;
    }
    ensure!(bytes <= BUDGET, "the page is {bytes} bytes large, more than {BUDGET}");
    let write =
        |name: &str, text: &str| fs::write(fresh.join(name), text).with_context(|| format!("cannot write {name}"));
    write("index.html", &page)?;
    write("_headers", HEADERS)?;
    // In one step, so that nobody is served half of it.
    let (output, old) = (output(), work.join("old"));
    if old.exists() {
        fs::remove_dir_all(&old).with_context(|| format!("cannot empty {}", old.display()))?;
    }
    if let Some(parent) = output.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    if output.exists() {
        fs::rename(&output, &old).with_context(|| format!("cannot move {}", output.display()))?;
    }
    fs::rename(&fresh, &output).with_context(|| format!("cannot write {}", output.display()))
}

/// All files below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
