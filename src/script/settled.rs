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
    /// The entries.
    pub entries: Vec<&'a str>,
}

impl Settled<'_> {
    /// KEYS, in the script's order.
    #[must_use]
    pub fn keys(&self, keys: &Keyspace) -> Vec<String> {
        let stream = std::iter::once(keys.orders(self.partition));
        stream.chain(self.orders.iter().map(|(id, _)| keys.order(id))).collect()
    }

    /// ARGV, in the script's order.
    #[must_use]
    pub fn args(&self) -> Vec<Arg<'_>> {
        let head = [Arg::Str(self.group), Arg::Int(self.order_ttl.0)].into_iter();
        let states = self.orders.iter().map(|(_, state)| Arg::Str(state));
        head.chain(states).chain(self.entries.iter().map(|id| Arg::Str(id))).collect()
    }
}
