//! Users and networks that are kept out, or exempt from limits, whatever they ask for.

use std::net::IpAddr;

use super::reader::{Faults, Place, Section};
use crate::model::User;

/// Most entries of one list: each request is compared with all of them.
const ENTRIES: usize = 4_096;

/// Who is kept out, and who is exempt from limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Kept out. Comes before `allow`.
    pub deny: List,
    /// Exempt from limits, and from nothing else.
    pub allow: List,
}

/// Users and networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Sorted.
    users: Vec<User>,
    networks: Vec<Network>,
}

impl List {
    /// Whether it names the user.
    #[must_use]
    pub fn has_user(&self, user: &User) -> bool {
        self.users.binary_search(user).is_ok()
    }

    /// Whether one of its networks holds the address, which is no mapped IPv4.
    #[must_use]
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.holds(address))
    }
}

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    first: IpAddr,
    /// How many bits they share.
    length: u32,
}

impl Network {
    /// Reads `192.0.2.0/24`, `2001:db8::/32`, or one address. An IPv4 network written as IPv6 is that IPv4 network.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| "is no address")?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => bits,
            Some(text) if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) => {
                return Err("must end in the number of shared bits");
            }
            Some(text) => text.parse().ok().filter(|n| *n <= bits).ok_or("shares more bits than an address has")?,
        };
        let network = match address {
            IpAddr::V6(v6) if length >= 96 && v6.to_ipv4_mapped().is_some() => {
                Self { first: address.to_canonical(), length: length - 96 }
            }
            _ => Self { first: address, length },
        };
        if network.rest(network.first) == 0 { Ok(network) } else { Err("has bits beyond those that are shared") }
    }

    /// The bits of an address that its network leaves open.
    fn rest(&self, address: IpAddr) -> u128 {
        match address {
            IpAddr::V4(v4) => u128::from(v4.to_bits() & u32::MAX.checked_shr(self.length).unwrap_or(0)),
            IpAddr::V6(v6) => v6.to_bits() & u128::MAX.checked_shr(self.length).unwrap_or(0),
        }
    }

    fn holds(&self, address: IpAddr) -> bool {
        let shared = match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(v4)) => u128::from(first.to_bits() ^ v4.to_bits()),
            (IpAddr::V6(first), IpAddr::V6(v6)) => first.to_bits() ^ v6.to_bits(),
            _ => return false,
        };
        shared == self.rest(address)
    }
}

pub(super) fn lists(section: &Section<'_>, faults: &Faults) -> Option<Lists> {
    let deny = list(faults, "deny", section.texts("deny_users"), section.texts("deny_ips"));
    let allow = list(faults, "allow", section.texts("allow_users"), section.texts("allow_ips"));
    section.finish();
    Some(Lists { deny: deny?, allow: allow? })
}

type Texts = Vec<(String, Place)>;

fn list(faults: &Faults, name: &str, users: Texts, ips: Texts) -> Option<List> {
    for texts in [&users, &ips] {
        if let Some((_, at)) = texts.get(ENTRIES) {
            faults.note(at, format!("a list holds at most {ENTRIES} entries"));
        }
    }
    let user = |(text, at): (String, Place)| {
        let user = User::parse(&text).map_err(|fault| faults.note(&at, format!("a user of `{name}_users` {fault}")));
        user.ok()
    };
    let network = |(text, at): (String, Place)| {
        let network = Network::parse(&text);
        network.map_err(|fault| faults.note(&at, format!("a network of `{name}_ips` {fault}"))).ok()
    };
    let users: Vec<Option<User>> = users.into_iter().map(user).collect();
    let networks: Vec<Option<Network>> = ips.into_iter().map(network).collect();
    let mut users: Vec<User> = users.into_iter().collect::<Option<_>>()?;
    users.sort();
    Some(List { users, networks: networks.into_iter().collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(network: &str, address: &str) -> bool {
        Network::parse(network).unwrap().holds(address.parse().unwrap())
    }

    #[test]
    fn a_network_holds_what_begins_as_it_does() {
        assert!(holds("192.0.2.0/24", "192.0.2.0") && holds("192.0.2.0/24", "192.0.2.255"));
        assert!(!holds("192.0.2.0/24", "192.0.3.0") && !holds("192.0.2.0/24", "192.0.1.255"));
        assert!(holds("2001:db8::/33", "2001:db8:7fff:ffff::1") && !holds("2001:db8::/33", "2001:db8:8000::"));
        assert!(holds("10.0.0.0/9", "10.127.255.255") && !holds("10.0.0.0/9", "10.128.0.0"));
    }

    #[test]
    fn one_address_is_a_network_of_its_own() {
        for (network, inside, outside) in
            [("192.0.2.7", "192.0.2.7", "192.0.2.6"), ("2001:db8::1", "2001:DB8:0::1", "2001:db8::2")]
        {
            assert!(holds(network, inside) && !holds(network, outside), "{network}");
        }
    }

    #[test]
    fn everything_of_one_family_is_a_network_too() {
        assert!(holds("0.0.0.0/0", "255.1.2.3") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("::/0", "ffff::1") && !holds("::/0", "1.2.3.4"));
    }

    #[test]
    fn r_express_rate_limit_cve_2026_30827_a_mapped_ipv4_network_is_that_ipv4_network() {
        assert!(holds("::ffff:192.0.2.0/120", "192.0.2.9") && !holds("::ffff:192.0.2.0/120", "192.0.3.9"));
        assert!(holds("::ffff:192.0.2.7", "192.0.2.7"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for bad in [
            "",
            "192.0.2.0/33",
            "2001:db8::/129",
            "192.0.2.1/24",
            "2001:db8::1/64",
            "192.0.2.0/",
            "192.0.2.0/+8",
            "192.0.2.0/-1",
            "192.0.2.0/24/8",
            "192.0.2",
            "fe80::1%eth0",
            "example.com",
            " 192.0.2.0/24",
            "192.0.2.0/255.255.255.0",
        ] {
            assert!(Network::parse(bad).is_err(), "{bad:?}");
        }
    }
}
