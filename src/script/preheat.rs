//! `lua/preheat.lua` and `lua/terms.lua`: put a sale into Redis, and keep its terms up to date there.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::keys::Keyspace;
use super::reply::ReplyFault;
use crate::model::{Millis, Sku};

/// Puts a sale that has never been open into Redis.
pub static PREHEAT: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/preheat.lua")]));
/// Changes the terms of a sale that is there.
pub static TERMS: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/terms.lua")]));

/// A sale's terms, as the `sale` key holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// First instant at which it sells.
    pub starts_at: Millis,
    /// First instant at which it no longer does.
    pub ends_at: Millis,
    /// Whether it is paused.
    pub paused: bool,
    /// Units that one user may have.
    pub per_user: u32,
    /// Price of one unit, in the currency's smallest unit.
    pub price: u64,
    /// Grows with every change of the terms.
    pub version: u64,
}

impl Terms {
    /// ARGV of both scripts; `preheat.lua` takes the stock after them.
    #[must_use]
    pub fn args(&self) -> Vec<Arg<'static>> {
        let Self { starts_at, ends_at, paused, per_user, price, version } = *self;
        [starts_at.0, ends_at.0, paused.into(), per_user.into(), price, version].map(Arg::Int).to_vec()
    }
}

/// KEYS of `preheat.lua`; those of `terms.lua` are the first of them.
#[must_use]
pub fn keys(keys: &Keyspace, sku: &Sku) -> Vec<String> {
    vec![keys.sale(sku), keys.stock(sku)]
}

/// Whether `preheat.lua` wrote the sale; if not, its stock was there already.
///
/// # Errors
/// [`ReplyFault`] when the reply is not the script's.
pub fn preheated(reply: &Value) -> Result<bool, ReplyFault> {
    match reply {
        Value::Int(0) => Ok(false),
        Value::Int(1) => Ok(true),
        _ => Err(ReplyFault),
    }
}

/// What became of a change of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Redis has it now.
    Written,
    /// Redis had this version, or a newer one.
    Older,
    /// The sale is not in Redis.
    NotPreheated,
}

/// Reads the reply of `terms.lua`.
///
/// # Errors
/// [`ReplyFault`] when it is not the script's.
pub fn applied(reply: &Value) -> Result<Applied, ReplyFault> {
    match reply {
        Value::Int(1) => Ok(Applied::Written),
        Value::Int(0) => Ok(Applied::Older),
        Value::Int(-1) => Ok(Applied::NotPreheated),
        _ => Err(ReplyFault),
    }
}
