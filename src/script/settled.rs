//! `lua/settled.lua` and `lua/trim.lua`: acknowledge what SQL has committed, and trim what is acknowledged.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script};

use super::keys::Keyspace;
use crate::model::{Millis, OrderId, Partition};

/// Acknowledges entries and marks their orders.
pub static SETTLED: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/settled.lua")]));
/// Trims the stream.
pub static TRIM: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/trim.lua")]));

/// One call of `settled.lua`.
#[derive(Clone, Debug)]
pub struct Settled<'a> {
    /// The stream's partition.
    pub partition: Partition,
    /// The consumer group.
    pub group: &'a str,
    /// How long Redis still answers for the orders.
    pub order_ttl: Millis,
    /// Orders with the state that they are in now.
    pub orders: Vec<(OrderId, String)>,
    /// Orders that are to be paid, with the time until which.
    pub to_be_paid: Vec<(OrderId, Millis)>,
    /// The entries.
    pub entries: Vec<&'a str>,
}

impl Settled<'_> {
    /// KEYS, in the script's order.
    #[must_use]
    pub fn keys(&self, keys: &Keyspace) -> Vec<String> {
        let head = [keys.orders(self.partition), keys.due(self.partition)].into_iter();
        head.chain(self.orders.iter().map(|(id, _)| keys.order(id))).collect()
    }

    /// ARGV, in the script's order.
    #[must_use]
    pub fn args(&self) -> Vec<Arg<'_>> {
        let head =
            [Arg::Str(self.group), Arg::Int(self.order_ttl.0), Arg::Int(self.to_be_paid.len() as u64)].into_iter();
        let states = self.orders.iter().map(|(_, state)| Arg::Str(state));
        let due = self.to_be_paid.iter().flat_map(|(id, at)| [Arg::Int(at.0), Arg::Str(id.as_str())]);
        head.chain(states).chain(due).chain(self.entries.iter().map(|id| Arg::Str(id))).collect()
    }
}
