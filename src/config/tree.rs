//! A document as it is read: a small tree that TOML becomes where it is checked, and JSON where it runs.

use std::fmt;

use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer};

/// A value and, where the document came as TOML, its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) value: Value,
    /// From 1; 0 where lines mean nothing.
    pub(super) line: usize,
}

/// What the gate's configuration is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Flag(bool),
    List(Vec<Node>),
    /// Keys in the order in which they stand.
    Table(Vec<Member>),
    /// What no setting takes: fractions, negative numbers, dates.
    Other,
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) key: String,
    /// Line of the key.
    pub(super) line: usize,
    pub(super) node: Node,
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Number(number) => serializer.serialize_u64(*number),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::List(items) => serializer.collect_seq(items),
            Value::Table(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for member in members {
                    map.serialize_entry(&member.key, &member.node)?;
                }
                map.end()
            }
            Value::Other => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor).map(|value| Self { value, line: 0 })
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a configuration")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members: Vec<Member> = Vec::new();
        while let Some((key, node)) = map.next_entry::<String, Node>()? {
            // TOML refuses a key that stands twice; JSON would let the last one win.
            if members.iter().any(|member| member.key == key) {
                return Err(de::Error::custom("a key stands twice"));
            }
            members.push(Member { key, line: 0, node });
        }
        Ok(Value::Table(members))
    }
}
