//! What a token may do, judged by what Redis says about its own commands.

use std::collections::HashSet;

use crate::catalog::{Catalog, Entry};
use crate::request::Command;

/// What may be asked under a prefix although it names no key: it shows and changes nobody's data.
const HARMLESS: [&[u8]; 4] = [b"PING", b"ECHO", b"TIME", b"COMMAND"];

/// What SCRIPT and FUNCTION may be asked by those who only read.
const LOOKS: [&[u8]; 6] = [b"LOAD", b"EXISTS", b"LIST", b"DUMP", b"STATS", b"HELP"];

/// The rights of a token.
#[derive(Debug, Clone, Default)]
pub struct Access {
    read_only: bool,
    /// Upper-case names, `SCRIPT|LOAD` for a subcommand. All if there is no list.
    commands: Option<HashSet<Vec<u8>>>,
    prefix: Option<Vec<u8>>,
}

impl Access {
    /// Everything.
    pub fn full() -> Self {
        Self::default()
    }

    /// Everything that changes nothing.
    pub fn read_only() -> Self {
        Self { read_only: true, ..Self::default() }
    }

    /// Only these commands, only keys that begin so.
    pub fn new(read_only: bool, commands: Option<&[String]>, prefix: Option<&str>) -> Self {
        let upper = |name: &String| name.to_ascii_uppercase().into_bytes();
        let commands = commands.map(|names| names.iter().map(upper).collect());
        let prefix = prefix.filter(|prefix| !prefix.is_empty()).map(|prefix| prefix.as_bytes().to_vec());
        Self { read_only, commands, prefix }
    }

    /// Whether commands must be looked at before they pass.
    pub fn is_restricted(&self) -> bool {
        self.read_only || self.is_guarded()
    }

    /// Whether what a script does must be checked inside it. Redis itself sees to it that a reading one only reads.
    pub fn is_guarded(&self) -> bool {
        self.commands.is_some() || self.prefix.is_some()
    }

    /// How keys must begin.
    pub fn prefix(&self) -> Option<&[u8]> {
        self.prefix.as_deref()
    }

    /// Whether there is a list of commands, or a rule that comes to one.
    pub fn lists(&self) -> bool {
        self.is_guarded()
    }

    /// Lets a command pass, as its reading twin if it is a script of one who only reads; or says why not.
    pub fn check(&self, catalog: &Catalog, command: &mut Command) -> Result<(), String> {
        if !self.is_restricted() {
            return Ok(());
        }
        let name = command.name();
        let shown = String::from_utf8_lossy(&name).to_lowercase();
        if catalog.is_empty() {
            return Err("NOPERM this token is restricted, and redis does not let the bridge use COMMAND".to_owned());
        }
        let entry = catalog.find(command);
        let entry = entry.ok_or_else(|| format!("NOPERM this token is restricted, and redis knows no '{shown}'"))?;
        let sub = command.arguments().first().filter(|_| catalog.has_subcommands(&name));
        if !self.allows(&name, sub.map(|sub| &**sub), entry) {
            return Err(format!("NOPERM this token may not run the '{shown}' command"));
        }
        if self.is_guarded() && matches!(name.as_slice(), b"FCALL" | b"FCALL_RO") {
            return Err("NOPERM what a function does cannot be checked for this token; use a script".to_owned());
        }
        self.check_keys(catalog, command, &shown)?;
        self.check_reads(catalog, command, &name, &shown)
    }

    fn check_keys(&self, catalog: &Catalog, command: &Command, shown: &str) -> Result<(), String> {
        let Some(prefix) = &self.prefix else { return Ok(()) };
        let keys = catalog.keys(command);
        if let Some(key) = keys.keys.iter().find(|key| !key.starts_with(prefix)) {
            let key = String::from_utf8_lossy(key);
            return Err(format!("NOPERM this token may not use the key '{key}'"));
        }
        match keys.certain {
            true => Ok(()),
            false => {
                Err(format!("NOPERM the keys of '{shown}' cannot all be known, and this token is bound to a prefix"))
            }
        }
    }

    fn check_reads(&self, catalog: &Catalog, command: &mut Command, name: &[u8], shown: &str) -> Result<(), String> {
        if !self.read_only {
            return Ok(());
        }
        let twin = match name {
            b"EVAL" => Some("EVAL_RO"),
            b"EVALSHA" => Some("EVALSHA_RO"),
            b"FCALL" => Some("FCALL_RO"),
            _ => None,
        };
        if let Some(twin) = twin {
            if !catalog.knows(twin.as_bytes()) {
                return Err(format!("NOPERM this token may only read, and this redis has no {twin}"));
            }
            command.rename(twin);
            return Ok(());
        }
        let looks = match name {
            b"SCRIPT" | b"FUNCTION" => command.arguments().first().is_some_and(|word| {
                let word = word.to_ascii_uppercase();
                LOOKS.contains(&word.as_slice()) && !(name == b"FUNCTION" && word == b"LOAD")
            }),
            // Redis flags these as neither reading nor writing.
            b"PUBLISH" | b"SPUBLISH" => false,
            _ => catalog.find(command).is_some_and(Entry::only_reads),
        };
        if looks { Ok(()) } else { Err(format!("NOPERM this token may only read, and '{shown}' does more")) }
    }

    /// Whether a command is on the list and, under a prefix, says which keys it means.
    pub fn allows(&self, name: &[u8], sub: Option<&[u8]>, entry: &Entry) -> bool {
        let full = sub.map(|sub| [name, b"|", &sub.to_ascii_uppercase()].concat());
        let is = |known: &dyn Fn(&[u8]) -> bool| known(name) || full.as_deref().is_some_and(known);
        if let Some(commands) = &self.commands {
            return is(&|name| commands.contains(name));
        }
        let script = |name: &[u8]| matches!(name, b"SCRIPT|LOAD" | b"SCRIPT|EXISTS");
        self.prefix.is_none() || !entry.keys.is_empty() || is(&|name| HARMLESS.contains(&name) || script(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// A COMMAND reply with what these tests need.
    fn catalog() -> Catalog {
        let mut reply = b"*9\r\n".to_vec();
        for (name, flag, first, last, step) in [
            ("get", "readonly", 1, 1, 1),
            ("set", "write", 1, 1, 1),
            ("mset", "write", 1, -1, 2),
            ("ping", "fast", 0, 0, 0),
            ("keys", "readonly", 0, 0, 0),
            ("eval_ro", "readonly", 3, 3, 1),
            ("eval", "noscript", 3, 3, 1),
            ("publish", "pubsub", 0, 0, 0),
            ("sort_ro", "movablekeys", 1, 1, 1),
        ] {
            let head = format!("*6\r\n+{name}\r\n:1\r\n*1\r\n+{flag}\r\n:{first}\r\n:{last}\r\n:{step}\r\n");
            reply.extend_from_slice(head.as_bytes());
        }
        Catalog::read(&reply)
    }

    fn check(access: &Access, words: &str) -> Result<String, String> {
        let parts = words.split(' ').map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        let mut command = Command::new(parts).unwrap();
        access.check(&catalog(), &mut command)?;
        Ok(String::from_utf8(command.name()).unwrap())
    }

    #[test]
    fn who_only_reads_changes_nothing() {
        let access = Access::read_only();
        assert_eq!(check(&access, "get k").as_deref(), Ok("GET"));
        assert_eq!(check(&access, "PING").as_deref(), Ok("PING"));
        assert_eq!(check(&access, "eval script 0").as_deref(), Ok("EVAL_RO"));
        for words in ["set k v", "publish c m", "nosuch"] {
            assert!(check(&access, words).unwrap_err().starts_with("NOPERM "), "{words}");
        }
    }

    #[test]
    fn a_prefix_holds_every_key_and_what_names_none() {
        let access = Access::new(false, None, Some("sl1:"));
        for good in ["get sl1:k", "mset sl1:a 1 sl1:b 2", "ping"] {
            assert!(check(&access, good).is_ok(), "{good}");
        }
        for bad in ["get k", "get sl1", "mset sl1:a 1 b 2", "keys *", "publish c m", "sort_ro sl1:k"] {
            assert!(check(&access, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_lets_only_its_commands_pass() {
        let access = Access::new(false, Some(&["get".into(), "Keys".into()]), None);
        assert!(check(&access, "GET k").is_ok() && check(&access, "keys *").is_ok());
        assert!(check(&access, "set k v").is_err() && check(&access, "ping").is_err());
        let both = Access::new(true, Some(&["set".into()]), None);
        assert!(check(&both, "set k v").is_err() && check(&both, "get k").is_err());
    }

    #[test]
    fn without_a_catalog_nothing_restricted_passes() {
        let mut command = Command::new(vec![Bytes::from_static(b"GET"), Bytes::from_static(b"k")]).unwrap();
        assert!(Access::read_only().check(&Catalog::default(), &mut command).is_err());
        assert!(Access::full().check(&Catalog::default(), &mut command).is_ok());
    }
}
