//! What Redis and SQL hold of a sale once all has come to rest, as plain values.

use std::collections::BTreeMap;

/// One row of `orders`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Its id.
    pub id: String,
    /// The op id, `orders.request_id`.
    pub op: String,
    /// Whose it is.
    pub user: String,
    /// Units.
    pub quantity: i64,
    /// Its state.
    pub status: String,
    /// Its number in the partition.
    pub seq: i64,
}

impl Order {
    /// Whether it holds units.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !matches!(self.status.as_str(), "cancelled" | "failed")
    }
}

/// One row of `inventory_log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Stock before it.
    pub before: i64,
    /// What it changed.
    pub quantity: i64,
    /// Stock after it.
    pub after: i64,
}

/// One row of `payments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The gateway's number.
    pub number: String,
    /// Order id.
    pub order: String,
    /// `applied`, `failed` or `refund_due`.
    pub status: String,
}

/// Everything about one sale.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Books {
    /// `inventory.initial`
    pub initial: i64,
    /// `inventory.stock`
    pub sql_stock: i64,
    /// `sales.status`
    pub sale: String,
    /// All orders.
    pub orders: Vec<Order>,
    /// Op ids of dead letters.
    pub dead: Vec<String>,
    /// The ledger, oldest first.
    pub ledger: Vec<Entry>,
    /// All payments.
    pub payments: Vec<Payment>,
    /// Rows of the outbox that are not done.
    pub outbox: i64,
    /// Orders that are to be paid and whose time is over.
    pub overdue: i64,
    /// Redis: what is left; `None` where it knows no such stock.
    pub redis_stock: Option<i64>,
    /// Redis: users and the units of each order that counts against their quota.
    pub buyers: BTreeMap<String, BTreeMap<String, i64>>,
    /// Redis: entries of the stream that are not delivered, or not acknowledged.
    pub waiting: u64,
}

impl Books {
    /// Whether nothing is under way any more.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.waiting == 0 && self.outbox == 0 && self.overdue == 0
    }

    /// Units in live orders.
    #[must_use]
    pub fn units(&self) -> i64 {
        self.orders.iter().filter(|order| order.is_live()).map(|order| order.quantity).sum()
    }
}
