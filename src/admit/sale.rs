//! Whether a sale sells, from what Redis holds of it. `lua/admit.lua` decides the same in the same order.

use crate::model::Millis;

/// A sale as Redis saw it at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Redis' time when it was read.
    pub at: Millis,
    /// When it begins.
    pub starts_at: Millis,
    /// When it ends.
    pub ends_at: Millis,
    /// Whether an operator holds it.
    pub paused: bool,
    /// Units left; `None` when it is not ready to sell.
    pub stock: Option<u64>,
    /// Price of one unit, in the currency's smallest.
    pub price: u64,
}

/// Why a sale sells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It begins after this long.
    NotStarted(Millis),
    /// It is over.
    Ended,
    /// An operator holds it.
    Paused,
    /// It is not ready to sell.
    NotPreheated,
    /// Nothing is left.
    SoldOut,
}

/// What is told of a sale to those who only look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It begins later.
    Scheduled,
    /// It sells.
    Open,
    /// An operator holds it, or it is not ready to sell.
    Paused,
    /// Nothing is left at the moment.
    SoldOut,
    /// It is over.
    Ended,
}

impl State {
    /// Its name in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Open => "open",
            Self::Paused => "paused",
            Self::SoldOut => "sold_out",
            Self::Ended => "ended",
        }
    }
}

impl Snapshot {
    /// What is told of it at Redis' time `now`. What has ended stays so, whatever an operator holds.
    #[must_use]
    pub fn state(&self, now: Millis) -> State {
        match self.stock {
            _ if now >= self.ends_at => State::Ended,
            _ if self.paused => State::Paused,
            _ if now < self.starts_at => State::Scheduled,
            None => State::Paused,
            Some(0) => State::SoldOut,
            Some(_) => State::Open,
        }
    }

    /// Why it sells nothing at Redis' time `now`; `None` while it sells. The order is that of `lua/admit.lua`.
    #[must_use]
    pub fn shut(&self, now: Millis) -> Option<Shut> {
        match self.stock {
            None => Some(Shut::NotPreheated),
            _ if self.paused => Some(Shut::Paused),
            _ if now < self.starts_at => Some(Shut::NotStarted(self.starts_at.minus(now))),
            _ if now >= self.ends_at => Some(Shut::Ended),
            Some(0) => Some(Shut::SoldOut),
            Some(_) => None,
        }
    }

    /// Why it surely sells nothing, when Redis' clock shows something from `earliest` to `latest`.
    #[must_use]
    pub fn surely_shut(&self, earliest: Millis, latest: Millis) -> Option<Shut> {
        match (self.shut(earliest), self.shut(latest)) {
            (Some(Shut::NotStarted(_)), Some(Shut::NotStarted(wait))) => Some(Shut::NotStarted(wait)),
            (early, late) if early == late => early,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Snapshot = Snapshot {
        at: Millis(100),
        starts_at: Millis(50),
        ends_at: Millis(1_000),
        paused: false,
        stock: Some(3),
        price: 9,
    };

    #[test]
    fn r_newbee_mall_97_both_edges_of_the_window() {
        assert_eq!(OPEN.shut(Millis(49)), Some(Shut::NotStarted(Millis(1))));
        assert_eq!((OPEN.shut(Millis(50)), OPEN.shut(Millis(999))), (None, None));
        assert_eq!(OPEN.shut(Millis(1_000)), Some(Shut::Ended));
        assert_eq!(Snapshot { stock: Some(0), ..OPEN }.shut(Millis(60)), Some(Shut::SoldOut));
        assert_eq!(Snapshot { paused: true, stock: Some(0), ..OPEN }.shut(Millis(60)), Some(Shut::Paused));
        assert_eq!(Snapshot { stock: None, ..OPEN }.shut(Millis(60)), Some(Shut::NotPreheated));
    }

    #[test]
    fn what_is_told_follows_the_times_and_what_is_left() {
        let told = |sale: Snapshot, now| sale.state(Millis(now)).as_str();
        assert_eq!([49, 50, 999, 1_000].map(|now| told(OPEN, now)), ["scheduled", "open", "open", "ended"]);
        assert_eq!(told(Snapshot { stock: Some(0), ..OPEN }, 60), "sold_out");
        assert_eq!(told(Snapshot { stock: None, ..OPEN }, 60), "paused");
        let paused = Snapshot { paused: true, ..OPEN };
        assert_eq!([told(paused, 1), told(paused, 60), told(paused, 1_000)], ["paused", "paused", "ended"]);
    }

    #[test]
    fn what_the_clock_leaves_open_is_left_to_redis() {
        assert_eq!(OPEN.surely_shut(Millis(40), Millis(60)), None, "it may have begun");
        assert_eq!(OPEN.surely_shut(Millis(40), Millis(48)), Some(Shut::NotStarted(Millis(2))));
        assert_eq!(OPEN.surely_shut(Millis(990), Millis(1_010)), None, "it may not be over");
        assert_eq!(OPEN.surely_shut(Millis(1_000), Millis(1_010)), Some(Shut::Ended));
    }
}
