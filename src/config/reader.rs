//! Reads tables value by value, notes every fault with its place, and goes on.

use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;

use super::tree::{Node, Value};

/// Where a value stands: its line in gate.toml, or its path in a document that came as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// From 1; 0 in a document that came as JSON.
    pub line: usize,
    /// Keys and positions, as in `route.2.path`; empty for the document itself.
    pub path: String,
}

impl Place {
    /// A line, when nothing more is known.
    #[must_use]
    pub fn line(line: usize) -> Self {
        Self { line, path: String::new() }
    }

    /// What stands at `key` below this place.
    fn below(&self, line: usize, key: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { line, path: format!("{}{dot}{key}", self.path) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.path.as_str()) {
            (0, "") => f.write_str("gate"),
            (0, path) => f.write_str(path),
            (line, _) => write!(f, "gate.toml:{line}"),
        }
    }
}

/// One mistake in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What was found wrong in a document.
#[derive(Default)]
pub(super) struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    pub(super) fn note(&self, at: &Place, message: impl Into<String>) {
        self.0.borrow_mut().push(Fault { place: at.clone(), message: message.into() });
    }

    /// All of them by line, or nothing when there is none.
    pub(super) fn into_result<T>(self, value: Option<T>) -> Result<T, Vec<Fault>> {
        let mut list = self.0.into_inner();
        if cfg!(not(target_arch = "wasm32")) {
            list.sort_by_key(|fault| fault.place.line);
        }
        match value {
            Some(value) if list.is_empty() => Ok(value),
            _ => Err(list),
        }
    }
}

/// One table, whose keys are ticked off as they are read.
pub(super) struct Section<'d> {
    faults: &'d Faults,
    name: &'static str,
    table: Option<&'d Node>,
    at: Place,
    read: RefCell<Vec<&'static str>>,
}

impl<'d> Section<'d> {
    /// The whole document; a fault when it is no table.
    pub(super) fn root(faults: &'d Faults, node: &'d Node) -> Self {
        let root = Self {
            faults,
            name: "the document",
            table: Some(node),
            at: Place::line(node.line),
            read: RefCell::default(),
        };
        if !matches!(node.value, Value::Table(_)) {
            root.fault("the document must be a table");
        }
        root
    }

    /// The table under `key`; an empty one when it is missing.
    pub(super) fn section(&self, key: &'static str) -> Section<'d> {
        let value = self.get(key);
        let at = value.map_or_else(|| self.at.clone(), |value| self.place(key, value));
        let table = value.filter(|value| matches!(value.value, Value::Table(_)));
        if value.is_some() && table.is_none() {
            self.faults.note(&at, format!("`{key}` must be a table: [{key}]"));
        }
        Section { faults: self.faults, name: key, table, at, read: RefCell::default() }
    }

    /// The tables of the array under `key`.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Section<'d>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let at = self.place(key, value);
        let wrong = |at: &Place| self.faults.note(at, format!("`{key}` must be a list of tables: [[{key}]]"));
        let Value::List(items) = &value.value else {
            wrong(&at);
            return Vec::new();
        };
        let tables = items.iter().enumerate().filter_map(|(i, item)| {
            let at = at.below(item.line, &i.to_string());
            if !matches!(item.value, Value::Table(_)) {
                wrong(&at);
                return None;
            }
            Some(Section { faults: self.faults, name: key, table: Some(item), at, read: RefCell::default() })
        });
        tables.collect()
    }

    pub(super) fn get(&self, key: &'static str) -> Option<&'d Node> {
        if !self.read.borrow().contains(&key) {
            self.read.borrow_mut().push(key);
        }
        let Some(Node { value: Value::Table(members), .. }) = self.table else { return None };
        members.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    fn place(&self, key: &str, value: &Node) -> Place {
        self.at.below(value.line, key)
    }

    /// A text; `default` when it is missing, a fault when there is no default.
    pub(super) fn text(&self, key: &'static str, default: Option<&str>) -> Option<(String, Place)> {
        match self.get(key) {
            None => match default {
                Some(text) => Some((text.to_owned(), self.at.clone())),
                None => self.missing(key),
            },
            Some(value) => match &value.value {
                Value::Text(text) => Some((text.clone(), self.place(key, value))),
                _ => self.wrong(key, value, format!("`{key}` must be a text in quotes")),
            },
        }
    }

    /// A text, where there is one; what is wrong with it is noted by who reads it in earnest.
    pub(super) fn peek(&self, key: &'static str) -> Option<&'d str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A list of texts; empty when it is missing. One text counts as a list of one.
    pub(super) fn texts(&self, key: &'static str) -> Vec<(String, Place)> {
        let one = |value: &'d Node| match &value.value {
            Value::Text(text) => Some((text.clone(), self.place(key, value))),
            _ => self.wrong(key, value, format!("`{key}` must be a text in quotes, or a list of them")),
        };
        match self.get(key) {
            None => Vec::new(),
            Some(Node { value: Value::List(items), .. }) => items.iter().filter_map(one).collect(),
            Some(value) => one(value).into_iter().collect(),
        }
    }

    /// A whole number within `range`; `default` when it is missing, a fault when there is no default.
    pub(super) fn number(&self, key: &'static str, range: RangeInclusive<u64>, default: Option<u64>) -> Option<u64> {
        let Some(value) = self.get(key) else {
            return default.or_else(|| self.missing(key));
        };
        let (low, high) = (range.start(), range.end());
        match value.value {
            Value::Number(n) if range.contains(&n) => Some(n),
            _ => self.wrong(key, value, format!("`{key}` must be a whole number from {low} to {high}")),
        }
    }

    /// `true` or `false`; `default` when it is missing.
    #[allow(dead_code, reason = "the next settings that are flags")]
    pub(super) fn flag(&self, key: &'static str, default: bool) -> Option<bool> {
        match self.get(key) {
            None => Some(default),
            Some(Node { value: Value::Flag(flag), .. }) => Some(*flag),
            Some(value) => self.wrong(key, value, format!("`{key}` must be true or false")),
        }
    }

    /// One of the named choices; the first when it is missing and `required` is false.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)], required: bool) -> Option<T> {
        let names = || choices.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        match self.get(key) {
            None if required => self.missing(key),
            None => choices.first().map(|(_, value)| *value),
            Some(value) => {
                let chosen = match &value.value {
                    Value::Text(text) => choices.iter().find(|(name, _)| name == text),
                    _ => None,
                };
                match chosen {
                    Some((_, chosen)) => Some(*chosen),
                    None => self.wrong(key, value, format!("`{key}` must be one of {}", names())),
                }
            }
        }
    }

    /// Notes every key that nothing has read.
    pub(super) fn finish(&self) {
        let read = self.read.borrow();
        let Some(Node { value: Value::Table(members), .. }) = self.table else { return };
        for member in members {
            let key = &member.key;
            if !read.iter().any(|name| name == key) {
                let known = read.join("`, `");
                self.faults
                    .note(&self.at.below(member.line, key), format!("`{key}` is not known here; known: `{known}`"));
            }
        }
    }

    /// Notes a fault of the whole section.
    pub(super) fn fault(&self, message: impl Into<String>) {
        self.faults.note(&self.at, message);
    }

    fn missing<T>(&self, key: &str) -> Option<T> {
        self.faults.note(&self.at, format!("`{key}` is missing in {}", self.name));
        None
    }

    fn wrong<T>(&self, key: &str, value: &Node, message: String) -> Option<T> {
        self.faults.note(&self.place(key, value), message);
        None
    }
}
