//! What Redis and SQL say after the sale, as plain values.

use std::collections::{BTreeMap, BTreeSet};

/// One row of `orders` that has not failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) id: String,
    pub(super) user: String,
    pub(super) quantity: i64,
}

/// One row of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) before: i64,
    pub(super) after: i64,
}

/// Everything about one sale.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Books {
    /// Redis: what is left.
    pub(super) redis_stock: i64,
    /// Redis: the users that hold an order.
    pub(super) redis_buyers: BTreeSet<String>,
    /// SQL: `inventory.stock`.
    pub(super) sql_stock: i64,
    /// SQL: `inventory.initial`.
    pub(super) sql_initial: i64,
    /// SQL: live orders.
    pub(super) orders: Vec<Order>,
    /// SQL: the ledger, oldest first.
    pub(super) ledger: Vec<Entry>,
}

impl Books {
    /// Users with the number of their live orders.
    pub(super) fn orders_by_user(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for order in &self.orders {
            *counts.entry(order.user.as_str()).or_default() += 1;
        }
        counts
    }

    /// Units in live orders.
    pub(super) fn units(&self) -> i64 {
        self.orders.iter().map(|order| order.quantity).sum()
    }
}
