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

/// A stored order token: an operation consumes it, any other request is issued it.
#[derive(Clone, Debug)]
pub struct StoredToken {
    /// Its key ([`super::keys::Keyspace::token`]).
    pub key: String,
    /// For an operation, the Redis time at which the token ends. When it is issued, how long it is kept; counted from
    /// the sale's start where the call reads the sale and that is still to come.
    pub time: Millis,
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
    /// Key of the mark that the user's JWT is revoked, where that is asked.
    pub revoked: Option<String>,
    /// The order token, where tokens are stored.
    pub token: Option<StoredToken>,
    /// The sale, when a snapshot of it is wanted.
    pub sale: Option<Sale>,
    /// Whether the caller would refuse an operation that has no claim yet.
    pub else_refuse: bool,
    /// Key and charge of each bucket, those in shadow last.
    pub buckets: Vec<(String, Charge)>,
    /// How many of them are in shadow: they refuse nothing.
    pub shadow: usize,
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
        let token = self.token.iter().map(|token| token.key.clone());
        let sale = self.sale.iter().flat_map(|sale| &sale.keys).cloned();
        claim
            .chain(self.revoked.clone())
            .chain(token)
            .chain(sale)
            .chain(self.buckets.iter().map(|(key, _)| key.clone()))
            .collect()
    }

    /// ARGV, in the script's order.
    #[must_use]
    pub fn args(&self) -> Vec<Arg<'_>> {
        let mut args = Vec::with_capacity(13 + self.buckets.len() * 3);
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
        let token = self.token.as_ref().map_or(0, |token| token.time.0);
        args.extend([token, self.revoked.is_some().into(), self.shadow as u64].map(Arg::Int));
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
    /// Positions of the buckets in shadow that would have refused.
    pub would_refuse: Vec<usize>,
}

/// Reads a reply.
///
/// # Errors
/// [`ReplyFault`] when the reply is not the script's.
pub fn parse(reply: Value) -> Result<Reply, ReplyFault> {
    let mut reply = Reader::new(reply)?;
    let status = reply.int()?;
    let now = Millis(reply.amount()?);
    let (mut sale, mut would_refuse) = (None, Vec::new());
    let mut levels = |reply| levels(reply, &mut would_refuse);
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
        10 => Verdict::TokenUsed,
        11 => Verdict::Revoked,
        _ => return Err(ReplyFault),
    };
    Ok(Reply { verdict, now, sale, would_refuse })
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

/// Each bucket's level; of one in shadow that would have refused the script tells `-1 - level`.
fn levels(reply: Reader, would_refuse: &mut Vec<usize>) -> Result<Vec<Level>, ReplyFault> {
    let mut told = reply.ints()?;
    for (at, level) in told.iter_mut().enumerate().filter(|(_, level)| **level < 0) {
        would_refuse.push(at);
        *level = -1 - *level;
    }
    Ok(told.into_iter().map(|us| Level(Micros(us.unsigned_abs()))).collect())
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
            ints(&[12, 1]),
            ints(&[1, -1]),
            ints(&[1, 1, 5]),
        ] {
            assert_eq!(parse(reply.clone()), Err(ReplyFault), "{reply:?}");
        }
    }

    #[test]
    fn a_bucket_in_shadow_that_would_have_refused_is_told_as_negative() {
        let [status, now, level, dark] = [1, 7, 500, -1].map(Value::Int);
        let reply = parse(Value::Array(vec![status, now, Value::Str(String::new()), level, dark])).unwrap();
        assert_eq!(reply.verdict, Verdict::Limited { levels: [500, 0].map(|us| Level(Micros(us))).to_vec() });
        assert_eq!(reply.would_refuse, [1]);
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
