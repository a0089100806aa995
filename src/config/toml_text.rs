//! gate.toml as people write it, with the line of every value. Not part of what runs at the edge, where a parser for
//! TOML would be a tenth of everything: there the same document comes as JSON.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Fault, Faults, Place};
use super::tree::{Member, Node, Value};

/// Reads the document's syntax.
pub(super) fn tree(text: &str) -> Result<Node, Vec<Fault>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let faults = Faults::default();
    for error in &errors {
        faults.note(&Place::line(line(text, error.span().unwrap_or_default())), error.message());
    }
    let root = Node { value: table(text, document.get_ref()), line: 1 };
    faults.into_result(errors.is_empty().then_some(root))
}

fn line(text: &str, at: Range<usize>) -> usize {
    let before = text.get(..at.start).unwrap_or(text);
    before.bytes().filter(|b| *b == b'\n').count() + 1
}

fn table(text: &str, table: &DeTable<'_>) -> Value {
    let member = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| Member {
        key: AsRef::<str>::as_ref(key.get_ref()).to_owned(),
        line: line(text, key.span()),
        node: node(text, value),
    };
    Value::Table(table.iter().map(member).collect())
}

fn node(text: &str, spanned: &Spanned<DeValue<'_>>) -> Node {
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(n) => u64::from_str_radix(n.as_str(), n.radix()).map_or(Value::Other, Value::Number),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(text, item)).collect()),
        DeValue::Table(inner) => table(text, inner),
        DeValue::Float(_) | DeValue::Datetime(_) => Value::Other,
    };
    Node { value, line: line(text, spanned.span()) }
}
