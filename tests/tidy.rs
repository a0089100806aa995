//! Rules that lints cannot see: which module may know which, what every file begins with, how long it may be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking; the allowances in .clippy.toml reach test functions, not their helpers"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 400;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below `folders` whose name ends in one of `endings`, with their text.
fn files(folders: &[&str], endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in folders {
        visit(&root().join(folder), endings, &mut found);
    }
    assert!(!found.is_empty(), "nothing in {folders:?}");
    found
}

fn visit(path: &Path, endings: &[&str], found: &mut Vec<(String, String)>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.is_dir() {
        if matches!(name.as_str(), "target" | "node_modules" | "build" | "dist") || name.starts_with('.') {
            return;
        }
        let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| visit(entry, endings, found));
    } else if endings.iter().any(|ending| name.ends_with(ending)) {
        let shown = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        found.push((shown, fs::read_to_string(path).unwrap()));
    }
}

fn assert_none(what: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{what}:\n  {}", faults.join("\n  "));
}

#[test]
fn every_rust_file_says_what_it_is_about() {
    let bare =
        files(&["src", "crates", "tests", "fuzz"], &[".rs"]).into_iter().filter(|(_, text)| !text.starts_with("//!"));
    assert_none("these files do not begin with `//!`", &bare.map(|(path, _)| path).collect::<Vec<_>>());
}

#[test]
fn no_file_is_longer_than_one_story() {
    let sources = files(&["src", "crates", "tests", "fuzz", "lua", "web"], &[".rs", ".lua", ".js", ".ts"]);
    let long = sources.iter().map(|(path, text)| (path, text.lines().count())).filter(|(_, n)| *n > LONGEST_FILE);
    assert_none("too long", &long.map(|(path, n)| format!("{path}: {n} lines")).collect::<Vec<_>>());
}

#[test]
fn no_module_is_a_drawer_for_everything() {
    let drawers = ["utils", "util", "common", "helpers", "helper", "manager", "misc"];
    let named = files(&["src", "crates", "tests", "fuzz"], &[".rs"]).into_iter().map(|(path, _)| path).filter(|path| {
        Path::new(path)
            .components()
            .any(|part| drawers.contains(&part.as_os_str().to_string_lossy().trim_end_matches(".rs")))
    });
    assert_none("name the story instead", &named.collect::<Vec<_>>());
}

/// What each layer of the root package may use of it; `digest` and `model` are the ground floor.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &["model"]),
    ("digest", &["digest"]),
    ("config", &["config", "model"]),
    ("identity", &["identity", "model"]),
    ("token", &["token", "digest", "identity", "model"]),
    ("assertion", &["assertion", "digest", "identity", "model"]),
    ("admit", &["admit", "model"]),
    ("shed", &["shed", "admit", "digest", "model"]),
    ("script", &["script", "admit", "digest", "model", "api"]),
    ("api", &["api", "admit", "model"]),
    (
        "gate",
        &["gate", "admit", "api", "assertion", "config", "digest", "identity", "model", "script", "shed", "token"],
    ),
    ("edge", &["edge", "config", "gate", "model", "api"]),
];

#[test]
fn dependencies_point_one_way() {
    let mut faults = Vec::new();
    for (path, text) in files(&["src"], &[".rs"]) {
        let module = path.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let (_, may_use) = MAY_USE
            .iter()
            .find(|(name, _)| *name == module)
            .unwrap_or_else(|| panic!("{path}: say in MAY_USE what {module} may use"));
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (i, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for used in line.split("crate::").skip(1).filter(|_| !line.contains("$crate::")) {
                let used = used.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
                if !may_use.contains(&used) && MAY_USE.iter().any(|(name, _)| *name == used) {
                    faults.push(format!("{path}:{}: {module} uses {used}", i + 1));
                }
            }
        }
    }
    assert_none("a layer looks up", &faults);
}

#[test]
fn only_the_edge_knows_javascript() {
    let words = ["wasm_bindgen", "js_sys", "web_sys", "worker::"];
    let mut faults = Vec::new();
    for (path, text) in files(&["src"], &[".rs"]) {
        if !path.starts_with("src/edge/") && words.iter().any(|word| text.contains(word)) {
            faults.push(path);
        }
    }
    assert_none("JavaScript outside src/edge", &faults);
}

/// Parts that are put before other scripts; they stand for no call of their own.
const LUA_PARTS: &[&str] = &["lua/claim.lua", "lua/terms.lua", "lua/lock/fence.lua"];

#[test]
fn every_script_says_what_it_takes_and_gives() {
    let mut faults = Vec::new();
    for (path, text) in files(&["lua"], &[".lua"]).into_iter().filter(|(path, _)| !LUA_PARTS.contains(&path.as_str())) {
        let header: String = text.lines().take_while(|line| line.starts_with("--")).collect::<Vec<_>>().join("\n");
        for word in ["KEYS", "ARGV", "Reply"] {
            if !header.contains(word) {
                faults.push(format!("{path}: the header does not name {word}"));
            }
        }
    }
    assert_none("Lua headers", &faults);
}

#[test]
fn r_effect_smol_2328_no_script_builds_a_key_name() {
    let mut faults = Vec::new();
    for (path, text) in files(&["lua"], &[".lua"]) {
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("--"));
        for (i, line) in code {
            for call in line.split("redis.call(").skip(1) {
                let mut arguments = call.split([',', ')']).map(str::trim);
                let command = arguments.next().unwrap_or_default();
                let key = arguments.next().unwrap_or_default();
                // XINFO and XGROUP name their subcommand before the key.
                let key =
                    if matches!(command, "'XINFO'" | "'XGROUP'") { arguments.next().unwrap_or_default() } else { key };
                let declared = key.starts_with("KEYS[") || key.starts_with("unpack(KEYS");
                if command != "'TIME'" && !declared {
                    faults.push(format!("{path}:{}: {command} on `{key}`, which is not one of KEYS", i + 1));
                }
            }
            if line.contains("sl1") {
                faults.push(format!("{path}:{}: a key's prefix in a script", i + 1));
            }
        }
    }
    assert_none("keys come from KEYS alone", &faults);
}

/// Scripts that write the gate's own keys; what the origin keeps for the length of a sale has no end.
const OF_THE_GATE: [&str; 3] = ["lua/admit.lua", "lua/complete.lua", "lua/release.lua"];

#[test]
fn r_kong_5763_what_the_gate_writes_has_its_end_in_the_same_command() {
    let mut faults = Vec::new();
    for (path, text) in files(&["lua"], &[".lua"]).into_iter().filter(|(path, _)| OF_THE_GATE.contains(&path.as_str()))
    {
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        for call in code.join(" ").split("redis.call(").skip(1) {
            let command = call.split([',', ')']).next().unwrap_or_default().trim();
            let ends = ["'PX'", "'PXAT'", "'KEEPTTL'"].iter().any(|end| call.contains(end));
            match command {
                "'TIME'" | "'GET'" | "'MGET'" | "'HMGET'" | "'EXISTS'" | "'DEL'" => {}
                "'SET'" if ends => {}
                _ => faults.push(format!("{path}: {command} writes without an end: {}", call.trim())),
            }
        }
    }
    assert_none("a crash or an error between two commands would leave a key for ever", &faults);
}

/// What `docs/cases.md` names as tests, in the last column of its tables.
fn named_tests(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let last = rows.filter_map(|row| row.rsplit(" | ").next());
    let quoted = last.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

#[test]
fn every_reported_fault_is_named_where_its_test_is() {
    let text = fs::read_to_string(root().join("docs/cases.md")).unwrap();
    let named = named_tests(&text);
    let mut there = BTreeSet::new();
    for (_, text) in files(&["src", "crates", "tests"], &[".rs"]) {
        for name in text.split("fn ").skip(1) {
            there.insert(
                name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default().to_owned(),
            );
        }
    }
    let missing: Vec<_> = named.difference(&there).cloned().collect();
    assert_none("docs/cases.md names tests that are not there", &missing);
    let unnamed: Vec<_> =
        there.iter().filter(|name| name.starts_with("r_")).filter(|name| !named.contains(*name)).cloned().collect();
    assert_none("name these in docs/cases.md, in the row of their report", &unnamed);
    for row in text.lines().filter(|line| line.starts_with("| ") && line.contains(" | ") && !line.starts_with("| id "))
    {
        assert_eq!(row.split(" | ").count(), 4, "id, report, what is right, tests: {row}");
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let mut reason = false;
    let mut faults = Vec::new();
    for line in section.lines().map(str::trim) {
        match line {
            "" => reason = false,
            _ if line.starts_with('#') => reason = true,
            _ if line.contains("path = ") => {}
            _ if !reason => faults.push(line.to_owned()),
            _ => {}
        }
    }
    assert_none("dependencies without a sentence", &faults);
}
