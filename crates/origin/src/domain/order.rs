//! An accepted order, as the stream carries it.

use std::collections::HashMap;

use sluice::model::{Millis, OrderId, Partition, Sku, User};

/// The states that an order is in once SQL has it.
pub(crate) mod status {
    /// Accepted, not in SQL yet.
    pub(crate) const QUEUED: &str = "queued";
    /// In SQL, to be paid.
    pub(crate) const PENDING_PAYMENT: &str = "pending_payment";
    /// Could not be settled.
    pub(crate) const FAILED: &str = "failed";
    /// Paid for.
    pub(crate) const PAID: &str = "paid";
    /// Given back: its buyer changed their mind, or did not pay.
    pub(crate) const CANCELLED: &str = "cancelled";
}

/// Why an order was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its buyer asked for it.
    Buyer,
    /// It was not paid in time.
    TimedOut,
    /// The payment failed.
    PaymentFailed,
}

impl Reason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Buyer => "buyer",
            Self::TimedOut => "timed_out",
            Self::PaymentFailed => "payment_failed",
        }
    }
}

/// What Redis' order hash says once SQL answers for the order.
pub(crate) const SETTLED: &str = "settled";
/// And of a second order for one operation; the first one's id follows.
pub(crate) const DUPLICATE_OF: &str = "duplicate:";

/// A new order id: the partition, and a ULID of now.
pub(crate) fn new_id(Partition(p): Partition, now: Millis) -> anyhow::Result<OrderId> {
    let ulid = ulid::Ulid::from_parts(now.0, ulid::Ulid::generate().random());
    Ok(OrderId::parse(&format!("{p}-{}", ulid.to_string()))?)
}

/// One entry of the stream: an order that `deduct.lua` accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Id of the entry.
    pub(crate) entry: String,
    pub(crate) order: OrderId,
    pub(crate) op_id: String,
    pub(crate) sku: Sku,
    pub(crate) user: User,
    pub(crate) quantity: u32,
    /// Price of one unit when it was accepted.
    pub(crate) price: i64,
    /// What the sale allowed one user when it was accepted.
    pub(crate) per_user: u32,
    pub(crate) seq: i64,
    /// Redis' time when it was accepted.
    pub(crate) at: Millis,
}

impl Placed {
    /// Reads an entry; the error names the field that is missing or no good.
    pub(crate) fn parse(entry: &str, fields: &HashMap<String, String>) -> Result<Self, &'static str> {
        let text = |name: &'static str| fields.get(name).map(String::as_str).ok_or(name);
        let quantity: u32 = number("quantity", text("quantity")?)?;
        let price: i64 = number("price", text("price")?)?;
        if quantity == 0 {
            return Err("quantity");
        }
        if price.checked_mul(quantity.into()).is_none_or(|amount| amount < 0) {
            return Err("price");
        }
        Ok(Self {
            entry: entry.to_owned(),
            order: OrderId::parse(text("order")?).map_err(|_| "order")?,
            op_id: text("req").and_then(|op| if op.is_empty() { Err("req") } else { Ok(op.to_owned()) })?,
            sku: Sku::parse(text("sku")?).map_err(|_| "sku")?,
            user: User::parse(text("user")?).map_err(|_| "user")?,
            quantity,
            price,
            per_user: number("per_user", text("per_user")?)?,
            seq: number("seq", text("seq")?)?,
            at: Millis(number("at", text("at")?)?),
        })
    }

    /// What is to be paid.
    pub(crate) fn amount(&self) -> i64 {
        self.price.saturating_mul(self.quantity.into())
    }

    /// The slot of which SQL allows one: it backs up the quota where that is one order for each user. Where more is
    /// allowed there is no slot (NULL), and `request_id` alone keeps an operation from becoming two orders.
    pub(crate) fn buyer_slot(&self) -> Option<String> {
        (self.per_user == 1).then(|| format!("{}:{}", self.sku, self.user))
    }
}

fn number<T: std::str::FromStr>(name: &'static str, text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| name)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn fields(order: &str, op: &str) -> HashMap<String, String> {
        [
            ("order", order),
            ("req", op),
            ("sku", "demo"),
            ("user", "42"),
            ("quantity", "2"),
            ("price", "1999"),
            ("per_user", "1"),
            ("seq", "7"),
            ("at", "1700000000000"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    const ID: &str = "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B";

    #[test]
    fn an_entry_is_read_whole_or_its_bad_field_is_named() {
        let placed = Placed::parse("1-0", &fields(ID, "op")).unwrap();
        assert_eq!((placed.amount(), placed.seq, placed.at), (3998, 7, Millis(1_700_000_000_000)));
        for (name, bad) in
            [("quantity", "0"), ("quantity", "x"), ("price", "-1"), ("user", ""), ("req", ""), ("seq", "")]
        {
            let mut fields = fields(ID, "op");
            fields.insert(name.into(), bad.into());
            assert_eq!(Placed::parse("1-0", &fields), Err(name));
        }
        let mut without = fields(ID, "op");
        without.remove("sku");
        assert_eq!(Placed::parse("1-0", &without), Err("sku"));
    }

    #[test]
    fn only_a_quota_of_one_has_a_slot() {
        let mut placed = Placed::parse("1-0", &fields(ID, "op")).unwrap();
        assert_eq!(placed.buyer_slot().as_deref(), Some("demo:42"));
        placed.per_user = 2;
        assert_eq!(placed.buyer_slot(), None);
    }
}
