//! `lua/admit.lua`: may this request pass?

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::CLAIM_LUA;
use super::reply::{Reader, ReplyFault};
use crate::admit::{Charge, Level, Snapshot, Verdict};
use crate::digest::Tag;
use crate::model::{Micros, Millis};

/// The script.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(&[CLAIM_LUA, include_str!("../../lua/admit.lua")]));

/// The operation that a request claims.
#[derive(Clone, Debug)]
pub struct Claiming {
    /// Key of the claim ([`super::keys::Keyspace::claim`]).
    pub key: String,
    /// This attempt's nonce.
    pub owner: Tag,
    /// Hash of what the request holds.
    pub fingerprint: Tag,
    /// What the origin will know the operation by.
    pub op_id: Tag,
    /// How long the claim keeps others out.
    pub lease: Millis,
    /// How long the answer is kept.
    pub retention: Millis,
    /// Whether an ambiguous outcome is held (true) or may be tried again (false).
    pub held: bool,
}

/// The sale that a call reads.
#[derive(Clone, Debug)]
pub struct Sale {
    /// Keys of the sale and of its stock.
    pub keys: [String; 2],
    /// Whether a sale that sells nothing refuses what has no claim yet; else it is only told.
    pub refuses: bool,
}

/// One call.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The operation, on routes that have one.
    pub claiming: Option<Claiming>,
    /// The sale, when a snapshot of it is wanted.
    pub sale: Option<Sale>,
    /// Whether the caller would refuse an operation that has no claim yet.
    pub else_refuse: bool,
    /// Key and charge of each bucket.
    pub buckets: Vec<(String, Charge)>,
    /// Latest Redis time at which it may claim; zero for any.
    pub call_by: Millis,
    /// Now, where Redis' own clock cannot be used; zero else.
    pub now: Micros,
}

impl Call {
    /// KEYS, in the script's order.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let claim = self.claiming.iter().map(|c| c.key.clone());
        let sale = self.sale.iter().flat_map(|sale| &sale.keys).cloned();
        claim.chain(sale).chain(self.buckets.iter().map(|(key, _)| key.clone())).collect()
    }

    /// ARGV, in the script's order.
    #[must_use]
    pub fn args(&self) -> Vec<Arg<'_>> {
        let mut args = Vec::with_capacity(10 + self.buckets.len() * 3);
        match &self.claiming {
            Some(c) => args.extend([
                Arg::Str(c.owner.as_str()),
                Arg::Str(c.fingerprint.as_str()),
                Arg::Str(c.op_id.as_str()),
                Arg::Int(c.lease.0),
                Arg::Int(c.retention.0),
                Arg::Int(c.held.into()),
            ]),
            None => args.extend([Arg::Str(""), Arg::Str(""), Arg::Str(""), Arg::Int(0), Arg::Int(0), Arg::Int(0)]),
        }
        let sale = self.sale.as_ref().map_or(0, |sale| if sale.refuses { 1 } else { 2 });
        args.extend([self.call_by.0, self.now.0, sale, self.else_refuse.into()].map(Arg::Int));
        for (_, charge) in &self.buckets {
            let quota = charge.quota;
            args.extend([quota.interval().0, quota.burst().into(), charge.cost.0.into()].map(Arg::Int));
        }
        args
    }
}

/// What one call brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The verdict.
    pub verdict: Verdict,
    /// Redis' time when it was reached.
    pub now: Millis,
    /// The sale, when it was asked for and read.
    pub sale: Option<Snapshot>,
}

/// Reads a reply.
///
/// # Errors
/// [`ReplyFault`] when the reply is not the script's.
pub fn parse(reply: Value) -> Result<Reply, ReplyFault> {
    let mut reply = Reader::new(reply)?;
    let status = reply.int()?;
    let now = Millis(reply.amount()?);
    let mut sale = None;
    if matches!(status, 0 | 1 | 4 | 8) {
        sale = snapshot(&reply.text()?, now)?;
    }
    let verdict = match status {
        0 => {
            let op_id = reply.text()?;
            Verdict::Admitted { taken_over: (!op_id.is_empty()).then_some(op_id), levels: levels(reply)? }
        }
        1 => Verdict::Limited { levels: levels(reply)? },
        2 => Verdict::InFlight { deadline: Millis(reply.amount()?) },
        3 => Verdict::Replay { answer: reply.text()? },
        4 => Verdict::Mismatch { levels: levels(reply)? },
        5 => Verdict::OutcomeUnknown,
        6 => Verdict::TooLate,
        7 => Verdict::Tombstone,
        8 => Verdict::Shut(sale.and_then(|sale| sale.shut(now)).ok_or(ReplyFault)?),
        9 => Verdict::ElseRefused,
        _ => return Err(ReplyFault),
    };
    Ok(Reply { verdict, now, sale })
}

/// The sale as the script packs it; `None` when it was not read or is not there.
fn snapshot(text: &str, at: Millis) -> Result<Option<Snapshot>, ReplyFault> {
    if matches!(text, "" | "-") {
        return Ok(None);
    }
    let mut parts = text.split(',');
    let mut next = || parts.next().ok_or(ReplyFault);
    let number = |text: &str| text.parse().map_err(|_| ReplyFault);
    let (starts_at, ends_at) = (Millis(number(next()?)?), Millis(number(next()?)?));
    let paused = next()? == "1";
    let stock = match next()? {
        "" => None,
        stock => Some(number(stock)?),
    };
    let price = number(next()?)?;
    Ok(Some(Snapshot { at, starts_at, ends_at, paused, stock, price }))
}

fn levels(reply: Reader) -> Result<Vec<Level>, ReplyFault> {
    Ok(reply.amounts()?.into_iter().map(|us| Level(Micros(us))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_of_another_layout_is_a_fault_and_never_an_admission() {
        let ints = |items: &[i64]| Value::Array(items.iter().map(|n| Value::Int(*n)).collect());
        for reply in [
            Value::Null,
            Value::Str("0".into()),
            ints(&[]),
            ints(&[0]),
            ints(&[0, 1]),
            ints(&[10, 1]),
            ints(&[1, -1]),
            ints(&[1, 1, -5]),
        ] {
            assert_eq!(parse(reply.clone()), Err(ReplyFault), "{reply:?}");
        }
    }

    #[test]
    fn a_sale_is_read_as_the_script_packs_it() {
        let sale = |text| snapshot(text, Millis(7));
        let (starts_at, ends_at) = (Millis(1), Millis(2));
        let want = Snapshot { at: Millis(7), starts_at, ends_at, paused: true, stock: Some(0), price: 9 };
        assert_eq!(sale("1,2,1,0,9"), Ok(Some(want)));
        assert_eq!(sale("1,2,0,,9"), Ok(Some(Snapshot { paused: false, stock: None, ..want })));
        assert_eq!((sale(""), sale("-")), (Ok(None), Ok(None)));
        for bad in ["1", "1,2,0", "1,2,0,1", "a,2,0,1,9", "1,2,0,-1,9", "1,2,0,1,x"] {
            assert_eq!(sale(bad), Err(ReplyFault), "{bad}");
        }
    }
}
