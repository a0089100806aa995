//! Who comes to a sale and what they do there: a pure value, made from a seed.

use super::random::Random;

/// A sale and its buyers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crowd {
    /// The seed, also part of every name, so that crowds may share a Redis.
    pub seed: u64,
    /// Units on offer.
    pub stock: u64,
    /// Units that one user may have.
    pub per_user: u32,
    /// How long an order may stay unpaid, ms.
    pub pay_within: u64,
    /// The buyers, in the order in which they come.
    pub buyers: Vec<Buyer>,
}

/// One buyer with one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buyer {
    /// The number of the user; several operations may be one user's.
    pub user: u64,
    /// When they come, ms after the start.
    pub at: u64,
    /// How many units they want.
    pub quantity: u32,
    /// How many clicks they make at once, all of one operation.
    pub clicks: u64,
    /// What they do with an order that was accepted, after so many ms.
    pub then: Then,
    /// Ms.
    pub after: u64,
}

/// What becomes of an accepted order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing: it is not paid in time, where the time is short.
    Leave,
    /// The gateway tells of the payment so many times at once, and again until it reads SUCCESS.
    Pay(u64),
    /// The payment fails, and the gateway says so.
    FailToPay,
    /// The gateway tells of the failure and of the success of the same payment, in any order.
    FailThenPay,
    /// They give it back, with so many clicks at once.
    Cancel(u64),
    /// They give it back while the gateway tells of the payment.
    CancelAndPay,
    /// Somebody else tells of a payment that was never made.
    Forge,
}

/// How large a crowd is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Most units on offer.
    pub stock: u64,
    /// Most buyers.
    pub buyers: u64,
    /// Within how many ms they come.
    pub within: u64,
    /// How long an order may stay unpaid where that is short, ms.
    pub pay_within: u64,
}

/// Longer than any schedule.
const LONG: u64 = 3_600_000;

impl Crowd {
    /// The crowd of a seed.
    #[must_use]
    pub fn of(seed: u64, size: &Size) -> Self {
        let mut random = Random::new(seed, 1);
        let stock = random.within(1, size.stock.max(1));
        let count = random.within(2, size.buyers.max(2));
        let per_user = if random.chance(60) { 1 } else { 3 };
        let pay_within = if random.chance(50) { size.pay_within } else { LONG };
        let mut buyers: Vec<Buyer> = (0..count).map(|n| buyer(&mut random, n, per_user, size)).collect();
        buyers.sort_by_key(|buyer| buyer.at);
        Self { seed, stock, per_user, pay_within, buyers }
    }

    /// The name of a user.
    #[must_use]
    pub fn user(&self, number: u64) -> String {
        format!("user-{number}")
    }

    /// The op id of the buyer at a place in the list.
    #[must_use]
    pub fn op(&self, place: usize) -> String {
        format!("op-{}-{place}", self.seed)
    }
}

fn buyer(random: &mut Random, number: u64, per_user: u32, size: &Size) -> Buyer {
    // Now and then somebody who came before comes again, as another operation.
    let user = if number > 0 && random.chance(20) { random.within(0, number - 1) } else { number };
    let quantity = if per_user > 1 { u32::try_from(random.within(1, 2)).unwrap_or(1) } else { 1 };
    Buyer {
        user,
        at: random.within(0, size.within),
        quantity,
        clicks: if random.chance(30) { random.within(2, 3) } else { 1 },
        then: match random.within(0, 9) {
            0 | 1 => Then::Leave,
            2 | 3 => Then::Pay(random.within(1, 3)),
            4 => Then::FailToPay,
            5 => Then::FailThenPay,
            6 => Then::Cancel(random.within(1, 2)),
            7 | 8 => Then::CancelAndPay,
            _ => Then::Forge,
        },
        after: random.within(0, size.within / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { stock: 10, buyers: 30, within: 2_000, pay_within: 1_500 };

    #[test]
    fn a_seed_is_one_crowd() {
        assert_eq!(Crowd::of(5, &SIZE), Crowd::of(5, &SIZE));
        assert_ne!(Crowd::of(5, &SIZE).buyers, Crowd::of(6, &SIZE).buyers);
    }

    #[test]
    fn crowds_hold_everything_that_can_happen() {
        let all: Vec<Crowd> = (0..50).map(|seed| Crowd::of(seed, &SIZE)).collect();
        let any = |wanted: fn(&Buyer) -> bool| all.iter().any(|crowd| crowd.buyers.iter().any(wanted));
        assert!(any(|b| b.then == Then::Forge) && any(|b| b.then == Then::CancelAndPay) && any(|b| b.clicks == 3));
        assert!(any(|b| b.quantity == 2) && all.iter().any(|crowd| crowd.pay_within == LONG));
        assert!(all.iter().all(|crowd| (1..=10).contains(&crowd.stock) && crowd.buyers.len() >= 2));
    }
}
