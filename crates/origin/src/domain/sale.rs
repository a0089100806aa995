//! A sale and its states.

use sluice::model::{Millis, Sku};
use sluice::script::preheat::Terms;

/// How far a sale has come, as SQL keeps it. Only scheduled -> open preheats Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Never been in Redis.
    Scheduled,
    /// In Redis; whether it sells yet is a matter of its times.
    Open,
    /// In Redis, and refusing for now.
    Paused,
    /// Over for good.
    Closed,
}

impl Status {
    const ALL: [Self; 4] = [Self::Scheduled, Self::Open, Self::Paused, Self::Closed];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Closed => "closed",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// A sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sale {
    pub(crate) sku: Sku,
    pub(crate) title: String,
    pub(crate) currency: String,
    pub(crate) status: Status,
    pub(crate) terms: Terms,
    /// How long an order may stay unpaid.
    pub(crate) pay_within: Millis,
    /// Whether a buyer may buy again who cancelled, or did not pay.
    pub(crate) rebuy: bool,
}

/// What clients are told about a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Scheduled,
    Open,
    Paused,
    SoldOut,
    Ended,
}

impl State {
    /// `stock` is what Redis has left, `None` where the sale is not in Redis (which then cannot sell).
    pub(crate) fn of(sale: &Sale, stock: Option<i64>, now: Millis) -> Self {
        if sale.status == Status::Closed || now >= sale.terms.ends_at {
            Self::Ended
        } else if sale.terms.paused {
            Self::Paused
        } else if now < sale.terms.starts_at {
            Self::Scheduled
        } else {
            match stock {
                None => Self::Paused,
                Some(left) if left <= 0 => Self::SoldOut,
                Some(_) => Self::Open,
            }
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Open => "open",
            Self::Paused => "paused",
            Self::SoldOut => "sold_out",
            Self::Ended => "ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sale(status: Status) -> Sale {
        let terms = Terms {
            starts_at: Millis(100),
            ends_at: Millis(200),
            paused: status == Status::Paused,
            per_user: 1,
            price: 1,
            version: 1,
        };
        let sku = Sku::parse("demo").unwrap();
        Sale { sku, title: String::new(), currency: "CNY".into(), status, terms, pay_within: Millis(1), rebuy: true }
    }

    #[test]
    fn both_edges_of_the_window() {
        let state = |now| State::of(&sale(Status::Open), Some(1), Millis(now)).as_str();
        assert_eq!([99, 100, 199, 200].map(state), ["scheduled", "open", "open", "ended"]);
    }

    #[test]
    fn nothing_left_is_sold_out_and_nothing_known_is_paused() {
        let state = |status, stock| State::of(&sale(status), stock, Millis(150)).as_str();
        assert_eq!(state(Status::Open, Some(0)), "sold_out");
        assert_eq!(state(Status::Open, None), "paused");
        assert_eq!(state(Status::Paused, Some(1)), "paused");
        assert_eq!(state(Status::Closed, Some(1)), "ended");
    }
}
