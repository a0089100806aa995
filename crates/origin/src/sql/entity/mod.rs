//! The tables as rows. Times are milliseconds since the epoch, money is in the currency's smallest unit.

pub(crate) mod dead_letter;
pub(crate) mod inventory;
pub(crate) mod inventory_log;
pub(crate) mod lease;
pub(crate) mod order;
pub(crate) mod outbox;
pub(crate) mod partition;
pub(crate) mod payment;
pub(crate) mod product;
pub(crate) mod sale;
pub(crate) mod settle_attempt;
