//! The parts, and what each does.

use super::{browser, cargo, deny, tree, web};
use crate::build::{self, Variant};
use crate::{conformance, console, deploy, dev, faults, fuzz, rush, tools};
use anyhow::{Result, ensure};
use clap::ValueEnum;

/// A part of `cargo xtask test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Formatting.
    Fmt,
    /// The edge's dependencies hold nothing that cannot run there.
    Tree,
    /// Licences and banned crates.
    Deny,
    /// Lints, native and for wasm, without a single warning.
    Clippy,
    /// Tests without services: unit tests, tests/spec, tidy, documentation.
    Spec,
    /// The pages' TypeScript: lints, types, tests.
    Web,
    /// Every fuzz target for some seconds; `cargo xtask fuzz` takes longer.
    Fuzz,
    /// Both variants of the edge, and the size budget.
    Wasm,
    /// The bridge against a real redis-server.
    Bridge,
    /// The published npm clients against the bridge.
    Conformance,
    /// The lock toolkit against real redis-servers.
    Lock,
    /// The origin against a real redis-server and SQL.
    Origin,
    /// Schedules of faults, inside the origin's process and over real ones.
    Faults,
    /// Whole stacks: tests/live, and the stack itself.
    Live,
    /// Orders, claims, replays, faults and the race of tests/live once more, on a Redis Cluster of three masters.
    LiveCluster,
    /// `wrangler deploy --dry-run`.
    Deploy,
    /// `cargo xtask dev --check`, through `wrangler dev`.
    Dev,
    /// The pages in Chromium, against a whole stack.
    Browser,
    /// A small `cargo xtask rush`.
    Rush,
}

impl Part {
    /// All of them, quick ones first.
    pub const ALL: [Self; 19] = [
        Self::Fmt,
        Self::Tree,
        Self::Deny,
        Self::Clippy,
        Self::Spec,
        Self::Web,
        Self::Fuzz,
        Self::Wasm,
        Self::Bridge,
        Self::Conformance,
        Self::Lock,
        Self::Origin,
        Self::Faults,
        Self::Live,
        Self::LiveCluster,
        Self::Deploy,
        Self::Dev,
        Self::Browser,
        Self::Rush,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Tree => "tree",
            Self::Deny => "deny",
            Self::Clippy => "clippy",
            Self::Spec => "spec",
            Self::Web => "web",
            Self::Fuzz => "fuzz",
            Self::Wasm => "wasm",
            Self::Bridge => "bridge",
            Self::Conformance => "conformance",
            Self::Lock => "lock",
            Self::Origin => "origin",
            Self::Faults => "faults",
            Self::Live => "live",
            Self::LiveCluster => "live-cluster",
            Self::Deploy => "deploy",
            Self::Dev => "dev",
            Self::Browser => "browser",
            Self::Rush => "rush",
        }
    }

    /// What it does, in a few words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Fmt => "formatting",
            Self::Tree => "what the edge depends on",
            Self::Deny => "licences and banned crates",
            Self::Clippy => "lints, native and wasm",
            Self::Spec => "tests without services",
            Self::Web => "the pages' TypeScript",
            Self::Fuzz => "each fuzz target for a short while",
            Self::Wasm => "both variants of the edge, and their size",
            Self::Bridge => "the bridge and a real Redis",
            Self::Conformance => "npm's clients for Upstash and the bridge",
            Self::Lock => "locks, against real redis-servers",
            Self::Origin => "the origin, a real Redis, SQLite, PostgreSQL and MariaDB",
            Self::Faults => "faults at random, inside the origin and over real processes",
            Self::Live => "whole stacks",
            Self::LiveCluster => "whole stacks on a Redis Cluster",
            Self::Deploy => "deployment, dry run",
            Self::Dev => "the lines that `dev` prints",
            Self::Browser => "the pages, in Chromium",
            Self::Rush => "a small rush",
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// When it fails.
    pub fn run(self) -> Result<()> {
        match self {
            Self::Fmt => cargo::fmt(),
            Self::Tree => tree::check(),
            Self::Deny => deny::check(),
            Self::Clippy => cargo::clippy(),
            Self::Spec => cargo::spec(),
            Self::Web => web::check(),
            Self::Fuzz => fuzz::run(&fuzz::Options { targets: Vec::new(), seconds: 8, replay: None }),
            Self::Wasm => wasm(),
            Self::Bridge => cargo::with_redis(&["bridge"]),
            Self::Conformance => clients(),
            Self::Lock => cargo::with_redis(&["lock"]),
            Self::Origin => cargo::origin(),
            Self::Faults => faults::check(),
            Self::Live => cargo::with_redis(&["stack", "live"]),
            Self::LiveCluster => cargo::live_cluster(),
            Self::Deploy => deploy::run(true),
            Self::Dev => dev::check(&dev::Options { check: true, ..dev::Options::default() }),
            Self::Browser => browser::check(),
            Self::Rush => quick_rush(),
        }
    }
}

fn wasm() -> Result<()> {
    tools::ensure_wasm_target()?;
    for variant in Variant::ALL {
        let edge = build::exclusive(|| build::edge(variant))?;
        console::say(&format!("{}: {}", variant.name(), edge.size.human()));
        // The other variant is for comparison and never ships.
        if variant == Variant::default() {
            edge.size.within_budget()?;
        }
    }
    Ok(())
}

fn clients() -> Result<()> {
    let report = conformance::run()?;
    report.print(false)?;
    ensure!(report.failed == 0, "the bridge and npm's clients differ");
    Ok(())
}

fn quick_rush() -> Result<()> {
    let options = rush::Options { users: 600, stock: 50, concurrency: 64, json: false, own: true };
    ensure!(rush::run(&options)?, "the rush broke an invariant");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_knows_each_part_by_its_name() {
        assert_eq!(Part::value_variants().len(), Part::ALL.len());
        for part in Part::ALL {
            let value = part.to_possible_value().unwrap();
            assert_eq!(value.get_name(), part.name());
        }
    }
}
