//! The edge must hold no crate that wants an operating system.

use crate::command;
use anyhow::{Result, bail};

/// Names of crates, each with everything that begins with it and a dash.
const FORBIDDEN: [&str; 7] = ["tokio", "mio", "hyper", "sqlx", "sea-orm", "redis", "axum"];

pub(super) fn check() -> Result<()> {
    let selections: [&[&str]; 3] = [&[], &["--edges", "normal,build"], &["--features", "reqwest"]];
    for selection in selections {
        let mut cargo = command::cargo();
        cargo.args(["tree", "--target", "wasm32-unknown-unknown", "--package", "sluice", "--prefix", "none"]);
        let tree = command::capture(cargo.args(selection))?;
        let found = forbidden(&tree);
        if !found.is_empty() {
            bail!("`cargo tree … {}` for wasm32 holds {}", selection.join(" "), found.join(", "));
        }
    }
    Ok(())
}

fn forbidden(tree: &str) -> Vec<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let mut found: Vec<&str> = names.filter(|name| FORBIDDEN.iter().any(|bad| is_or_extends(name, bad))).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn is_or_extends(name: &str, bad: &str) -> bool {
    name.strip_prefix(bad).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_crates_are_found_by_name() {
        let tree = "sluice v0.1.0\nhyper-util v0.1.21\nserde v1.0\ntokio v1.54.1\ntokio v1.54.1 (*)\n";
        assert_eq!(forbidden(tree), ["hyper-util", "tokio"]);
        assert!(forbidden("hyperloglog v1\nredistribute v1\nmiow v1\n").is_empty());
    }
}
