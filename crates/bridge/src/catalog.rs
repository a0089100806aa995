//! What Redis says about its commands: which of them write, where their keys are, which nodes they concern.

use std::collections::HashMap;

use crate::request::Command;
use crate::resp::Tree;

mod keys;

pub use keys::{Begin, Find, KeySpec, Keys};

/// Which nodes of a cluster a command without keys concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Any one.
    #[default]
    One,
    /// Every master.
    Masters,
}

/// How the replies of several nodes become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// The first error, or else the first reply; arrays are joined.
    #[default]
    Join,
    /// Numbers are added up.
    Sum,
}

/// One command, or one subcommand.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    flags: Vec<Vec<u8>>,
    /// Where its keys are.
    pub keys: Vec<KeySpec>,
    /// Which nodes it concerns.
    pub reach: Reach,
    /// What to make of their replies.
    pub merge: Merge,
    /// Its subcommands, by upper-case name.
    pub subcommands: HashMap<Vec<u8>, Entry>,
}

impl Entry {
    /// Whether Redis gives it this flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag.as_bytes())
    }

    /// Whether it looks and changes nothing.
    pub fn only_reads(&self) -> bool {
        self.has("readonly") || !(self.has("write") || self.has("admin"))
    }
}

/// All commands by upper-case name. Empty if Redis does not tell.
#[derive(Debug, Default)]
pub struct Catalog {
    commands: HashMap<Vec<u8>, Entry>,
}

impl Catalog {
    /// Reads the reply to COMMAND.
    pub fn read(reply: &[u8]) -> Self {
        let tree = Tree::read(&mut &*reply);
        let commands = tree.iter().flat_map(|tree| tree.items()).filter_map(|item| entry(item, false)).collect();
        Self { commands }
    }

    /// Whether Redis told nothing: its user may not use COMMAND.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// All commands.
    pub fn commands(&self) -> impl Iterator<Item = (&Vec<u8>, &Entry)> {
        self.commands.iter()
    }

    /// What is known about a command; about its subcommand, if it has some.
    pub fn find(&self, command: &Command) -> Option<&Entry> {
        let entry = self.commands.get(&command.name())?;
        if entry.subcommands.is_empty() {
            return Some(entry);
        }
        command.arguments().first().and_then(|word| entry.subcommands.get(&word.to_ascii_uppercase()))
    }

    /// Whether there is such a command.
    pub fn knows(&self, name: &[u8]) -> bool {
        self.commands.contains_key(name)
    }

    /// Whether a command is a family of subcommands.
    pub fn has_subcommands(&self, name: &[u8]) -> bool {
        self.commands.get(name).is_some_and(|entry| !entry.subcommands.is_empty())
    }

    /// A command's keys.
    pub fn keys<'c>(&self, command: &'c Command) -> Keys<'c> {
        self.find(command).map_or(Keys { keys: Vec::new(), certain: false }, |entry| keys::find(&entry.keys, command))
    }
}

/// One item of COMMAND's reply: name, arity, flags, first, last, step, categories, tips, key specifications and
/// subcommands; the last three since Redis 7.
fn entry(item: &Tree<'_>, sub: bool) -> Option<(Vec<u8>, Entry)> {
    let at = |index: usize| item.items().get(index);
    let mut name = at(0)?.text().to_ascii_uppercase();
    if sub && let Some(bar) = name.iter().position(|byte| *byte == b'|') {
        name.drain(..=bar);
    }
    let texts = |index: usize| {
        at(index).iter().flat_map(|list| list.items()).map(|item| item.text().to_vec()).collect::<Vec<_>>()
    };
    let number = |index: usize| at(index).and_then(Tree::integer).unwrap_or_default();
    let flags = texts(2);
    let tips = texts(7);
    let tip = |text: &str| tips.iter().any(|tip| tip == text.as_bytes());
    let keys = match at(8) {
        Some(specs) => specs.items().iter().map(keys::read).collect(),
        None => keys::before_7(&flags, number(3), number(4), number(5)),
    };
    let subcommands = at(9).iter().flat_map(|list| list.items()).filter_map(|item| entry(item, true)).collect();
    let reach = tip("request_policy:all_shards") || tip("request_policy:all_nodes");
    let entry = Entry {
        flags,
        keys,
        reach: if reach { Reach::Masters } else { Reach::One },
        merge: if tip("response_policy:agg_sum") { Merge::Sum } else { Merge::Join },
        subcommands,
    };
    Some((name, entry))
}
