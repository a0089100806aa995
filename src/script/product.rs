//! `lua/fill.lua` and `lua/outdate.lua`: a product's entry in the cache, written unless it is outdated, and deleted.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::keys::Keyspace;
use super::reply::ReplyFault;
use crate::model::{Millis, Sku};

/// Writes an entry.
pub static FILL: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/fill.lua")]));
/// Deletes it.
pub static OUTDATE: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/outdate.lua")]));

/// How long an announced version keeps older ones out: longer than any reader can hold what it has read.
pub const FLOOR_TTL: Millis = Millis::from_secs(60);

/// KEYS of both.
#[must_use]
pub fn keys(keys: &Keyspace, sku: &Sku) -> [String; 2] {
    [keys.product(sku), keys.floor(sku)]
}

/// ARGV of `fill.lua`.
#[must_use]
pub fn fill(version: u64, entry: &str, ttl: Millis) -> [Arg<'_>; 3] {
    [Arg::Int(version), Arg::Str(entry), Arg::Int(ttl.0)]
}

/// ARGV of `outdate.lua`.
#[must_use]
pub fn outdate(version: u64) -> [Arg<'static>; 2] {
    [Arg::Int(version), Arg::Int(FLOOR_TTL.0)]
}

/// Whether an entry was written.
///
/// # Errors
/// [`ReplyFault`] when it is not the script's reply.
pub fn filled(reply: &Value) -> Result<bool, ReplyFault> {
    match reply {
        Value::Int(1) => Ok(true),
        Value::Int(0) => Ok(false),
        _ => Err(ReplyFault),
    }
}
