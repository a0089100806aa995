//! What stands in front of a script whose keys or commands are to be checked.

use std::fmt::Write;

use crate::catalog::{Begin, Catalog, Entry, Find, KeySpec};
use crate::policy::Access;

const SOURCE: &str = include_str!("guard.lua");

/// A prelude for one set of rights.
#[derive(Debug)]
pub struct Guard {
    prelude: String,
}

impl Guard {
    /// A prelude that refuses what `access` does not allow and, if `declared`, keys that are not in KEYS.
    pub fn new(catalog: &Catalog, access: &Access, declared: bool) -> Self {
        let prefix = access.prefix().map_or_else(|| "nil".to_owned(), quoted);
        let code = SOURCE.lines().map(str::trim).filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join(" ");
        let prelude = code
            .replace("@TABLE@", &quoted(table(catalog, access).as_bytes()))
            .replace("@PREFIX@", &prefix)
            .replace("@DECLARED@", if declared { "true" } else { "false" })
            .replace("@LISTED@", if access.lists() { "true" } else { "false" });
        Self { prelude }
    }

    /// The script with the prelude on its first line, or on its second if the first says `#!`.
    pub fn put_before(&self, text: &[u8]) -> Vec<u8> {
        let head = match text.starts_with(b"#!") {
            true => text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1),
            false => 0,
        };
        let (head, rest) = text.split_at_checked(head).unwrap_or((b"", text));
        [head, self.prelude.as_bytes(), b" ", rest].concat()
    }
}

/// `|get=r1,0,1,0|xgroup create=r2,0,1,0|…`: one string, so that it costs nothing until it is looked into.
fn table(catalog: &Catalog, access: &Access) -> String {
    let mut rows = Vec::new();
    for (name, entry) in catalog.commands() {
        if entry.subcommands.is_empty() {
            if access.allows(name, None, entry) {
                rows.push(row(name, None, entry));
            }
            continue;
        }
        for (sub, entry) in &entry.subcommands {
            if access.allows(name, Some(sub), entry) {
                rows.push(row(name, Some(sub), entry));
            }
        }
    }
    // The same rights must give the same text: its SHA1 is what Redis knows the script by.
    rows.sort();
    rows.concat() + "|"
}

fn row(name: &[u8], sub: Option<&Vec<u8>>, entry: &Entry) -> String {
    let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase();
    let sub = sub.map(|sub| format!(" {}", lower(sub))).unwrap_or_default();
    let specs: Vec<String> = entry.keys.iter().map(spec).collect();
    format!("|{}{sub}={}", lower(name), specs.join(";"))
}

fn spec(spec: &KeySpec) -> String {
    match (&spec.begin, spec.find) {
        (Begin::Index(begin), Find::Range { last, step, limit }) => format!("r{begin},{last},{},{limit}", step.max(1)),
        (Begin::Index(begin), Find::Count { number, first, step }) => {
            format!("n{begin},{number},{first},{}", step.max(1))
        }
        (Begin::Keyword(word, from), Find::Range { last, step, limit }) => {
            format!("k{},{from},{last},{},{limit}", String::from_utf8_lossy(word), step.max(1))
        }
        _ => "u".to_owned(),
    }
}

/// A Lua string: every byte that is not plainly harmless is written by its number.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("'");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' | 0..=31 | 127..=255 => {
                let _ = write!(out, "\\{byte:03}");
            }
            _ => out.push(char::from(*byte)),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prelude_is_one_line_and_leaves_a_first_line_alone() {
        let guard = Guard::new(&Catalog::default(), &Access::new(false, None, Some("a'\n")), true);
        let text = String::from_utf8(guard.put_before(b"return 1\nx")).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains(r"'a\039\010'") && text.ends_with("; return 1\nx") && !text.contains('@'), "{text}");
        let text = String::from_utf8(guard.put_before(b"#!lua flags=no-writes\nreturn 1")).unwrap();
        assert!(text.starts_with("#!lua flags=no-writes\nlocal redis") && text.ends_with(" return 1"), "{text}");
    }
}
