//! `lua/deduct.lua`: take stock for one order, and append it to the stream.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::CLAIM_LUA;
use super::keys::Keyspace;
use super::reply::{Reader, ReplyFault};
use crate::api::answer::{self, ORDER_ID};
use crate::api::code::{Code, Language};
use crate::api::order::{accepted, already_bought};
use crate::api::problem::Problem;
use crate::model::{Millis, OrderId, Sku, User};

/// The script.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(&[CLAIM_LUA, include_str!("../../lua/deduct.lua")]));

/// The claim that the caller acts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its owner.
    pub owner: &'a str,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Deduct<'a> {
    /// The order's id, should it be a new one. Its partition must be the sale's.
    pub order: &'a OrderId,
    /// What the operation is known by.
    pub op_id: &'a str,
    /// The sale.
    pub sku: &'a Sku,
    /// Who buys.
    pub user: &'a User,
    /// Units wanted.
    pub quantity: NonZeroU32,
    /// Redis time after which it must not begin.
    pub not_after: Millis,
    /// The highest `seq` that this process has seen.
    pub known_seq: u64,
    /// How long the operation is remembered.
    pub retention: Millis,
    /// The claim, when it is in this Redis.
    pub claim: Option<Claim<'a>>,
}

impl Deduct<'_> {
    /// KEYS, in the script's order.
    #[must_use]
    pub fn keys(&self, keys: &Keyspace) -> Vec<String> {
        let p = keys.partition_of(self.sku);
        let request = keys.request(p, self.op_id);
        let claim = self.claim.map_or_else(|| request.clone(), |claim| claim.key.to_owned());
        vec![
            keys.sale(self.sku),
            keys.stock(self.sku),
            keys.buyers(self.sku),
            request,
            keys.order(self.order),
            keys.orders(p),
            keys.seq(p),
            claim,
        ]
    }

    /// ARGV, in the script's order.
    #[must_use]
    pub fn args<'a>(&'a self, answers: &'a Answers) -> Vec<Arg<'a>> {
        vec![
            Arg::Str(self.order.as_str()),
            Arg::Str(self.op_id),
            Arg::Str(self.sku.as_str()),
            Arg::Str(self.user.as_str()),
            Arg::Int(self.quantity.get().into()),
            Arg::Int(self.not_after.0),
            Arg::Int(self.known_seq),
            Arg::Str(self.claim.map_or("", |claim| claim.owner)),
            Arg::Int(self.retention.0),
            Arg::Str(&answers.accepted),
            Arg::Str(&answers.already_bought),
            Arg::Str(&answers.ended),
        ]
    }
}

/// The packed answers that a claim can be finished with, in one language.
#[derive(Clone, Debug)]
pub struct Answers {
    accepted: String,
    already_bought: String,
    ended: String,
}

impl Answers {
    /// The answers whose titles are in `language`.
    #[must_use]
    pub fn new(language: Language) -> Self {
        let id = ORDER_ID.to_string();
        // The problem's body is made with an id that JSON leaves alone, since it would escape the placeholder.
        let bought = answer::pack(&already_bought("*").response(language), Code::AlreadyBought.as_str());
        Self {
            accepted: answer::pack(&accepted(&id), ""),
            already_bought: bought.replacen("\"*\"", &format!("\"{id}\""), 1),
            ended: answer::pack(&Problem::from(Code::SaleEnded).response(language), Code::SaleEnded.as_str()),
        }
    }
}

/// What became of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the stream.
    Accepted(OrderId),
    /// It was accepted before, under the same op id.
    Same(OrderId),
    /// The user has this order already, and may have no more.
    AlreadyBought(String),
    /// Fewer units are left than wanted.
    SoldOut,
    /// The sale, or its stock, is not in Redis.
    NotPreheated,
    /// The sale is paused.
    Paused,
    /// The sale has not begun.
    NotStarted,
    /// The sale is over.
    Ended,
    /// Redis came to it after `not_after`; nothing was done.
    TooLate,
    /// Redis has forgotten deducts that this process knows of; nothing was done.
    RolledBack,
    /// More units are wanted than one user may have.
    OverQuota,
}

/// The script's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What became of the order.
    pub outcome: Outcome,
    /// Redis' time.
    pub now: Millis,
    /// Whether the script finished or deleted the claim.
    pub claim_written: bool,
    /// The partition's `seq`.
    pub seq: u64,
    /// Units left.
    pub stock: i64,
    /// When the sale starts; zero where the script did not come to look.
    pub starts_at: Millis,
}

/// Reads the reply.
///
/// # Errors
/// [`ReplyFault`] when it is not the script's.
pub fn parse(reply: Value) -> Result<Reply, ReplyFault> {
    let mut reply = Reader::new(reply)?;
    let code = reply.int()?;
    let id = reply.text()?;
    let order = |id: &str| OrderId::parse(id).map_err(|_| ReplyFault);
    let outcome = match code {
        0 => Outcome::Accepted(order(&id)?),
        1 => Outcome::SoldOut,
        2 => Outcome::AlreadyBought(id),
        3 => Outcome::Same(order(&id)?),
        -1 => Outcome::NotPreheated,
        -2 => Outcome::Paused,
        -3 => Outcome::NotStarted,
        -4 => Outcome::Ended,
        -5 => Outcome::TooLate,
        -6 => Outcome::RolledBack,
        -7 => Outcome::OverQuota,
        _ => return Err(ReplyFault),
    };
    Ok(Reply {
        outcome,
        now: Millis(reply.amount()?),
        claim_written: reply.int()? == 1,
        seq: reply.amount()?,
        stock: reply.int()?,
        starts_at: Millis(reply.amount()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B";

    #[test]
    fn a_completed_template_is_the_answer_itself() {
        for language in [Language::English, Language::Chinese] {
            let answers = Answers::new(language);
            let filled = |template: &str| template.replace(ORDER_ID, ID);
            assert_eq!(filled(&answers.accepted), answer::pack(&accepted(ID), ""));
            let bought = answer::pack(&already_bought(ID).response(language), "already_bought");
            assert_eq!(filled(&answers.already_bought), bought);
        }
    }

    #[test]
    fn a_caller_without_a_claim_passes_the_request_key_and_no_owner() {
        let keys = Keyspace::default();
        let call = Deduct {
            order: &OrderId::parse(ID).unwrap(),
            op_id: "op",
            sku: &Sku::parse("demo").unwrap(),
            user: &User::parse("42").unwrap(),
            quantity: NonZeroU32::MIN,
            not_after: Millis(9),
            known_seq: 1,
            retention: Millis(5),
            claim: None,
        };
        let names = call.keys(&keys);
        assert_eq!(names.last(), names.get(3));
        assert_eq!(call.args(&Answers::new(Language::English)).get(7), Some(&Arg::Str("")));
    }

    #[test]
    fn a_reply_of_another_layout_is_a_fault_and_never_an_order() {
        let good = |code, id: &str| {
            let mut items = vec![Value::Int(code), Value::Str(id.into())];
            items.extend([7, 1, 3, 9, 0].map(Value::Int));
            Value::Array(items)
        };
        assert!(matches!(parse(good(0, ID)).unwrap().outcome, Outcome::Accepted(_)));
        for bad in [good(0, ""), good(3, "x"), good(99, ID), Value::Null, Value::Array(vec![Value::Int(0)])] {
            assert_eq!(parse(bad), Err(ReplyFault));
        }
    }
}
