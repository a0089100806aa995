//! `deny.toml`, by cargo-deny where it is installed; else its lists of licences and bans, read by ourselves.

use crate::{command, console, paths};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use toml::de::{DeTable, DeValue};

pub(super) fn check() -> Result<()> {
    if is_installed() {
        return command::run(command::cargo().args(["deny", "--offline", "check", "bans", "licenses", "sources"]));
    }
    console::say("cargo-deny is not installed; licences and bans are compared with deny.toml all the same");
    let path = paths::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rules = Rules::parse(&text).context("deny.toml is not as expected")?;
    let mut tree = command::cargo();
    tree.args(["tree", "--workspace", "--edges", "normal,build", "--prefix", "none", "--format", "{p}|{l}"]);
    let faults = rules.faults(&command::capture(&mut tree)?);
    if !faults.is_empty() {
        bail!(faults.into_iter().collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

fn is_installed() -> bool {
    let mut probe = Command::new("cargo-deny");
    probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// The two lists.
#[derive(Debug, PartialEq, Eq)]
struct Rules {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
}

impl Rules {
    fn parse(text: &str) -> Option<Self> {
        let table = DeTable::parse(text).ok()?.into_inner();
        let list = |section: &str, name: &str| match table.get(section)?.get_ref().get(name)?.get_ref() {
            DeValue::Array(values) => Some(values.iter().map(|value| value.get_ref().clone()).collect::<Vec<_>>()),
            _ => None,
        };
        let licences = list("licenses", "allow")?;
        let banned = list("bans", "deny")?;
        let text = |value: Option<&DeValue<'_>>| value.and_then(|value| value.as_str()).map(str::to_owned);
        Some(Self {
            licences: licences.iter().filter_map(|value| text(Some(value))).collect(),
            banned: banned.iter().filter_map(|value| text(value.get("crate").map(|name| name.get_ref()))).collect(),
        })
    }

    /// A sentence for each crate that breaks a rule. `tree` has lines `name version …|licence`.
    fn faults(&self, tree: &str) -> BTreeSet<String> {
        let mut faults = BTreeSet::new();
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let (package, licence) = line.split_once('|').unwrap_or((line, ""));
            let name = package.split(' ').next().unwrap_or(package);
            if self.banned.contains(name) {
                faults.insert(format!("{package} is banned"));
            }
            if !self.allows(licence.trim_end_matches(" (*)")) {
                faults.insert(format!("{package} has the licence {licence:?}, which deny.toml does not allow"));
            }
        }
        faults
    }

    /// Whether an SPDX expression can be met: of alternatives one, of conjunctions all.
    fn allows(&self, expression: &str) -> bool {
        let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
        plain.split(" OR ").any(|choice| choice.split(" AND ").all(|one| self.licences.contains(one.trim())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[licenses]
allow = ["MIT", "Apache-2.0", "Unicode-3.0"]
[bans]
multiple-versions = "warn"
deny = [{ crate = "openssl" }]
"#;

    #[test]
    fn licences_and_bans_are_compared() {
        let rules = Rules::parse(TEXT).unwrap();
        let good = "a v1|MIT OR GPL-3.0\nb v1|MIT/Apache-2.0 (*)\nc v1|(MIT OR Apache-2.0) AND Unicode-3.0\n";
        assert_eq!(rules.faults(good), BTreeSet::new());
        let bad = rules.faults("openssl v1|MIT\nd v1|GPL-3.0\n");
        assert_eq!(bad.len(), 2, "{bad:?}");
    }

    #[test]
    fn the_repositorys_own_rules_are_understood() {
        let text = std::fs::read_to_string(paths::root().join("deny.toml")).unwrap();
        assert!(Rules::parse(&text).unwrap().banned.contains("openssl"));
    }
}
