//! `lua/restore.lua` and `lua/restock.lua`: give an order's stock back, or add to it, once.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::keys::Keyspace;
use super::reply::ReplyFault;
use crate::model::{Millis, OrderId, Sku, User};

/// The script.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/restore.lua")]));

/// Adds units to a sale's stock, once: KEYS are `stock` and the marker, ARGV the units and the marker's TTL.
pub static RESTOCK: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/restock.lua")]));

/// How long the marker is kept that keeps stock from being given back twice.
pub const MARKER_TTL: Millis = Millis::from_secs(7 * 24 * 3600);

/// One call.
#[derive(Clone, Debug)]
pub struct Restore<'a> {
    /// The order.
    pub order: &'a OrderId,
    /// Its sale.
    pub sku: &'a Sku,
    /// Its buyer.
    pub user: &'a User,
    /// Units to give back.
    pub quantity: u32,
    /// The state that the order ends in.
    pub state: &'a str,
    /// How long Redis still answers for the order.
    pub order_ttl: Millis,
    /// Whether the order goes on counting against its buyer's quota.
    pub keeps_buyer: bool,
}

impl Restore<'_> {
    /// KEYS, in the script's order.
    #[must_use]
    pub fn keys(&self, keys: &Keyspace) -> Vec<String> {
        vec![
            keys.stock(self.sku),
            keys.buyers(self.sku),
            keys.order(self.order),
            keys.restored(self.order.partition(), self.order.as_str()),
        ]
    }

    /// ARGV, in the script's order.
    #[must_use]
    pub fn args(&self) -> Vec<Arg<'_>> {
        vec![
            Arg::Str(self.order.as_str()),
            Arg::Str(self.user.as_str()),
            Arg::Int(self.quantity.into()),
            Arg::Str(self.state),
            Arg::Int(MARKER_TTL.0),
            Arg::Int(self.order_ttl.0),
            Arg::Int(self.keeps_buyer.into()),
        ]
    }
}

/// What became of the stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// Given back now.
    Now,
    /// Given back by an earlier call.
    Before,
    /// The sale's stock is not in Redis; nothing was written.
    NotPreheated,
}

/// Reads the reply.
///
/// # Errors
/// [`ReplyFault`] when it is not the script's.
pub fn parse(reply: &Value) -> Result<Restored, ReplyFault> {
    match reply {
        Value::Int(1) => Ok(Restored::Now),
        Value::Int(0) => Ok(Restored::Before),
        Value::Int(-1) => Ok(Restored::NotPreheated),
        _ => Err(ReplyFault),
    }
}
