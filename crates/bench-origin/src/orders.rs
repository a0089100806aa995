//! An order in Redis, by the script of the real origin.

use anyhow::{Context, Result};
use redis::Value as Reply;
use sluice::script::Arg;
use sluice::script::deduct::{self, Deduct};

use crate::desk::Desk;

/// What became of an order, as far as an answer needs it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The script's code: 0 accepted, 1 sold out, 2 already bought, 3 accepted before.
    pub(crate) code: i64,
    /// The order's id, where there is one.
    pub(crate) order: String,
    /// Redis' time, ms.
    pub(crate) now: i64,
    /// Whether the claim was finished or deleted with it.
    pub(crate) claim_written: bool,
    /// What is left.
    pub(crate) stock: i64,
}

/// Takes stock for one order.
pub(crate) async fn deduct(desk: &Desk, call: &Deduct<'_>) -> Result<Taken> {
    let keys = call.keys(&desk.keys);
    let mut command = redis::cmd("EVALSHA");
    command.arg(deduct::SCRIPT.sha1()).arg(keys.len()).arg(keys);
    for arg in call.args(&desk.answers) {
        match arg {
            Arg::Str(text) => command.arg(text),
            Arg::Int(number) => command.arg(number),
        };
    }
    let reply: Reply = command.query_async(&mut desk.redis.clone()).await?;
    read(&reply).context("the script answered in another layout")
}

fn read(reply: &Reply) -> Option<Taken> {
    let Reply::Array(items) = reply else { return None };
    let int = |at: usize| match items.get(at) {
        Some(Reply::Int(number)) => Some(*number),
        _ => None,
    };
    let order = match items.get(1) {
        Some(Reply::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => return None,
    };
    Some(Taken { code: int(0)?, order, now: int(2)?, claim_written: int(3)? == 1, stock: int(5)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_by_its_places() {
        let text = |text: &str| Reply::BulkString(text.as_bytes().to_vec());
        let ints = |rest: [i64; 5]| rest.map(Reply::Int).to_vec();
        let reply = Reply::Array([vec![Reply::Int(0), text("0-01")], ints([7, 1, 3, 99, 1])].concat());
        let order = "0-01".to_owned();
        assert_eq!(read(&reply), Some(Taken { code: 0, order, now: 7, claim_written: true, stock: 99 }));
        assert_eq!(read(&Reply::Array(vec![Reply::Int(0)])), None);
        assert_eq!(read(&Reply::Nil), None);
    }
}
