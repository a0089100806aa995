//! Reads TOML tables value by value, notes every fault with its line, and goes on.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One mistake in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gate.toml:{}: {}", self.line, self.message)
    }
}

/// The document's text, and what was found wrong in it.
pub(super) struct Faults<'t> {
    text: &'t str,
    list: RefCell<Vec<Fault>>,
}

impl<'t> Faults<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, list: RefCell::default() }
    }

    pub(super) fn note(&self, at: &Range<usize>, message: impl Into<String>) {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        self.list.borrow_mut().push(Fault { line, message: message.into() });
    }

    /// All of them by line, or nothing when there is none.
    pub(super) fn into_result<T>(self, value: Option<T>) -> Result<T, Vec<Fault>> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|fault| fault.line);
        match value {
            Some(value) if list.is_empty() => Ok(value),
            _ => Err(list),
        }
    }
}

/// A value with its place.
pub(super) type Placed<'t> = Spanned<DeValue<'t>>;

/// One table, whose keys are ticked off as they are read.
pub(super) struct Section<'t, 'd> {
    faults: &'d Faults<'t>,
    name: &'static str,
    table: Option<&'d DeTable<'t>>,
    at: Range<usize>,
    read: RefCell<Vec<&'static str>>,
}

impl<'t, 'd> Section<'t, 'd> {
    pub(super) fn new(faults: &'d Faults<'t>, name: &'static str, table: &'d DeTable<'t>, at: Range<usize>) -> Self {
        Self { faults, name, table: Some(table), at, read: RefCell::default() }
    }

    /// The table under `key`; an empty one when it is missing.
    pub(super) fn section(&self, key: &'static str) -> Section<'t, 'd> {
        let (table, at) = match self.get(key) {
            None => (None, self.at.clone()),
            Some(value) => match value.get_ref() {
                DeValue::Table(table) => (Some(table), value.span()),
                _ => {
                    self.note(value, format!("`{key}` must be a table: [{key}]"));
                    (None, value.span())
                }
            },
        };
        Section { faults: self.faults, name: key, table, at, read: RefCell::default() }
    }

    /// The tables of the array under `key`.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Section<'t, 'd>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let DeValue::Array(items) = value.get_ref() else {
            self.note(value, format!("`{key}` must be a list of tables: [[{key}]]"));
            return Vec::new();
        };
        let tables = items.iter().filter_map(|item| match item.get_ref() {
            DeValue::Table(table) => Some(Section::new(self.faults, key, table, item.span())),
            _ => {
                self.note(item, format!("`{key}` must be a list of tables: [[{key}]]"));
                None
            }
        });
        tables.collect()
    }

    pub(super) fn get(&self, key: &'static str) -> Option<&'d Placed<'t>> {
        self.read.borrow_mut().push(key);
        self.table.and_then(|table| table.iter().find(|(k, _)| k.get_ref() == key)).map(|(_, value)| value)
    }

    /// A text; `default` when it is missing, a fault when there is no default.
    pub(super) fn text(&self, key: &'static str, default: Option<&str>) -> Option<(String, Range<usize>)> {
        match self.get(key) {
            None => match default {
                Some(text) => Some((text.to_owned(), self.at.clone())),
                None => self.missing(key),
            },
            Some(value) => match value.get_ref() {
                DeValue::String(text) => Some((text.clone().into_owned(), value.span())),
                _ => self.wrong(value, format!("`{key}` must be a text in quotes")),
            },
        }
    }

    /// A text, where there is one; what is wrong with it is noted by who reads it in earnest.
    pub(super) fn peek(&self, key: &'static str) -> Option<&'d str> {
        match self.get(key)?.get_ref() {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// A list of texts; empty when it is missing. One text counts as a list of one.
    pub(super) fn texts(&self, key: &'static str) -> Vec<(String, Range<usize>)> {
        let wrong = |value| self.wrong(value, format!("`{key}` must be a text in quotes, or a list of them"));
        let one = |value: &'d Placed<'t>| match value.get_ref() {
            DeValue::String(text) => Some((text.clone().into_owned(), value.span())),
            _ => wrong(value),
        };
        match self.get(key) {
            None => Vec::new(),
            Some(value) => match value.get_ref() {
                DeValue::Array(items) => items.iter().filter_map(one).collect(),
                _ => one(value).into_iter().collect(),
            },
        }
    }

    /// A whole number within `range`; `default` when it is missing, a fault when there is no default.
    pub(super) fn number(&self, key: &'static str, range: RangeInclusive<u64>, default: Option<u64>) -> Option<u64> {
        let Some(value) = self.get(key) else {
            return default.or_else(|| self.missing(key));
        };
        let number = match value.get_ref() {
            DeValue::Integer(n) => u64::from_str_radix(n.as_str(), n.radix()).ok(),
            _ => None,
        };
        let (low, high) = (range.start(), range.end());
        match number {
            Some(n) if range.contains(&n) => Some(n),
            _ => self.wrong(value, format!("`{key}` must be a whole number from {low} to {high}")),
        }
    }

    /// One of the named choices; the first when it is missing and `required` is false.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)], required: bool) -> Option<T> {
        let names = || choices.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        match self.get(key) {
            None if required => self.missing(key),
            None => choices.first().map(|(_, value)| *value),
            Some(value) => {
                let chosen = match value.get_ref() {
                    DeValue::String(text) => choices.iter().find(|(name, _)| name == text),
                    _ => None,
                };
                match chosen {
                    Some((_, chosen)) => Some(*chosen),
                    None => self.wrong(value, format!("`{key}` must be one of {}", names())),
                }
            }
        }
    }

    /// Notes every key that nothing has read.
    pub(super) fn finish(&self) {
        let read = self.read.borrow();
        for (key, _) in self.table.iter().flat_map(|table| table.iter()) {
            if !read.iter().any(|name| name == key.get_ref()) {
                let known = read.join("`, `");
                self.faults.note(&key.span(), format!("`{}` is not known here; known: `{known}`", key.get_ref()));
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

    fn note(&self, value: &Placed<'t>, message: String) {
        self.faults.note(&value.span(), message);
    }

    fn wrong<T>(&self, value: &Placed<'t>, message: String) -> Option<T> {
        self.note(value, message);
        None
    }
}
