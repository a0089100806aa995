//! `lua/repair.lua`: set a sale's stock to what SQL says.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::keys::Keyspace;
use super::reply::ReplyFault;
use super::restore::MARKER_TTL;
use crate::model::Sku;

/// The script.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/repair.lua")]));

/// One call.
#[derive(Clone, Debug)]
pub struct Repair<'a> {
    /// The sale.
    pub sku: &'a Sku,
    /// The stock that was seen before SQL was read, as it stands in Redis; `None` when there was none.
    pub seen: Option<i64>,
    /// The stock to set.
    pub stock: i64,
    /// Restores that this stock has in it, by the ids of their markers.
    pub restored: &'a [String],
}

impl Repair<'_> {
    /// KEYS, in the script's order.
    #[must_use]
    pub fn keys(&self, keys: &Keyspace) -> Vec<String> {
        let p = keys.partition_of(self.sku);
        let markers = self.restored.iter().map(|id| keys.restored(p, id));
        std::iter::once(keys.stock(self.sku)).chain(markers).collect()
    }

    /// The stock that was seen and the stock to set, as texts of ARGV.
    #[must_use]
    pub fn numbers(&self) -> (String, String) {
        (self.seen.map(|n| n.to_string()).unwrap_or_default(), self.stock.to_string())
    }
}

/// ARGV, in the script's order.
#[must_use]
pub fn args(numbers: &(String, String)) -> Vec<Arg<'_>> {
    vec![Arg::Str(&numbers.0), Arg::Str(&numbers.1), Arg::Int(MARKER_TTL.0)]
}

/// Whether it was set; if not, the stock has moved.
///
/// # Errors
/// [`ReplyFault`] when the reply is not the script's.
pub fn parse(reply: &Value) -> Result<bool, ReplyFault> {
    match reply {
        Value::Int(1) => Ok(true),
        Value::Int(0) => Ok(false),
        _ => Err(ReplyFault),
    }
}
