//! What a sale and an order are, without any Redis, SQL or HTTP.

pub(crate) mod balance;
pub(crate) mod bearer;
pub(crate) mod ledger;
pub(crate) mod order;
pub(crate) mod payment;
pub(crate) mod product;
pub(crate) mod sale;
