//! Who comes to the sale, and with what in their hands.

use std::net::Ipv4Addr;

/// What a user does about the order token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Fetches one, as everybody should.
    Honest,
    /// Makes one up.
    Forged,
    /// Comes with one that is over.
    Expired,
}

/// One user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shopper {
    pub(super) user: String,
    pub(super) ip: Ipv4Addr,
    pub(super) kind: Kind,
}

/// The range that RFC 2544 keeps for load tests: 198.18.0.0/15.
const FIRST_IP: u32 = 0xC612_0000;
const IPS: u32 = 1 << 17;

/// `count` users, each with a name and an address of their own.
pub(super) fn shoppers(count: u32) -> impl Iterator<Item = Shopper> {
    (1..=count).map(|number| Shopper {
        user: format!("rush-{number}"),
        ip: Ipv4Addr::from(FIRST_IP + number % IPS),
        kind: kind(number),
    })
}

fn kind(number: u32) -> Kind {
    if number.is_multiple_of(20) {
        Kind::Forged
    } else if number.is_multiple_of(25) {
        Kind::Expired
    } else {
        Kind::Honest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn users_and_addresses_are_distinct() {
        let all: Vec<Shopper> = shoppers(100_000).collect();
        let users: HashSet<_> = all.iter().map(|shopper| &shopper.user).collect();
        let ips: HashSet<_> = all.iter().map(|shopper| shopper.ip).collect();
        assert_eq!((users.len(), ips.len()), (100_000, 100_000));
    }

    #[test]
    fn some_are_dishonest() {
        let count = |kind| shoppers(100).filter(|shopper| shopper.kind == kind).count();
        assert_eq!(count(Kind::Forged), 5);
        assert_eq!(count(Kind::Expired), 3, "25, 50 and 75; 100 is forged");
        assert_eq!(count(Kind::Honest), 92);
    }
}
