//! `cargo xtask deploy`: build, check, hand over to wrangler.

use crate::build::{self, Variant};
use crate::{command, console, paths};
use anyhow::{Context, Result};
use std::fs;

/// What must be set with `wrangler secret put` before the Worker can answer.
pub const SECRETS: [&str; 4] =
    ["UPSTASH_REDIS_REST_TOKEN", "USER_JWT_SECRET", "ORDER_TOKEN_SECRET", "ASSERTION_SECRET"];

/// Deploys, or with `dry_run` shows what would be deployed; the latter needs neither network nor account.
///
/// # Errors
/// When the build, the configuration or wrangler fails.
pub fn run(dry_run: bool) -> Result<()> {
    // gate.toml is checked by the build: a mistake stops it and names the line.
    let edge = build::exclusive(|| build::edge(Variant::Fetch))?;
    edge.size.within_budget()?;
    console::say(&format!("edge: {}", edge.size.human()));
    let mut wrangler = command::node("wrangler");
    wrangler.arg("deploy");
    if dry_run {
        let folder = paths::target()?.join("edge/dry-run");
        wrangler.arg("--dry-run").arg("--outdir").arg(&folder);
    } else {
        console::say(&reminder());
    }
    command::run(&mut wrangler)
}

fn reminder() -> String {
    let mut text = String::from("These secrets must exist (`npx wrangler secret list` shows them):\n");
    for name in SECRETS {
        text.push_str("  npx wrangler secret put ");
        text.push_str(name);
        text.push('\n');
    }
    text.push_str("ORIGIN_URL and UPSTASH_REDIS_REST_URL are taken from [vars] in wrangler.toml.");
    text
}

/// The date of wrangler.toml, so that workerd alone runs as the deployed Worker does.
///
/// # Errors
/// When wrangler.toml cannot be read or has none.
pub fn compatibility_date() -> Result<String> {
    let path = paths::root().join("wrangler.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    date_in(&text).with_context(|| format!("{} has no compatibility_date", path.display()))
}

fn date_in(text: &str) -> Option<String> {
    let table = toml::de::DeTable::parse(text).ok()?;
    let date = table.get_ref().get("compatibility_date")?.get_ref().as_str()?;
    Some(date.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_read() {
        let text = "name = \"x\"\ncompatibility_date = \"2026-11-01\"\n";
        assert_eq!(date_in(text).as_deref(), Some("2026-11-01"));
        assert_eq!(date_in("name = 1"), None);
    }

    #[test]
    fn every_secret_is_documented_in_the_configuration() {
        let text = fs::read_to_string(paths::root().join("wrangler.toml")).unwrap();
        for name in SECRETS {
            assert!(text.contains(&format!("wrangler secret put {name}")), "{name}");
        }
        assert!(compatibility_date().is_ok());
    }
}
