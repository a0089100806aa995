//! `lua/due.lua`: orders whose time to pay is over, lent out.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::reply::ReplyFault;
use crate::model::{Millis, OrderId};

/// The script. Its one key is `due` of a partition.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("../../lua/due.lua")]));

/// ARGV: for how long they are lent, and how many at most.
#[must_use]
pub fn args(lease: Millis, most: u64) -> Vec<Arg<'static>> {
    vec![Arg::Int(lease.0), Arg::Int(most)]
}

/// Reads the reply. What is no order id was not put there by us, and is left out.
///
/// # Errors
/// [`ReplyFault`] when it is not the script's.
pub fn parse(reply: Value) -> Result<Vec<OrderId>, ReplyFault> {
    let Value::Array(items) = reply else { return Err(ReplyFault) };
    let id = |item| match item {
        Value::Str(text) => Ok(OrderId::parse(&text).ok()),
        _ => Err(ReplyFault),
    };
    items.into_iter().filter_map(|item| id(item).transpose()).collect()
}
