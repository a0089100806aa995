//! The client's address as a limit sees it: IPv4 whole, IPv6 by its /64, an IPv4 in IPv6 clothes as the IPv4 it is.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Whom an address limit counts: one IPv4 address, or one /64 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientIp(IpAddr);

/// The address in the platform header's value, a mapped IPv4 as the IPv4 it is; `None` when it is no address.
#[must_use]
pub fn address(text: &str) -> Option<IpAddr> {
    // A zone (`fe80::1%eth0`) names an interface of the host that wrote it and means nothing here.
    let text = text.trim();
    let text = text.split_once('%').map_or(text, |(address, _)| address);
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

impl ClientIp {
    /// The group that `ip` belongs to.
    #[must_use]
    pub fn from_ip(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V6(v6) => Self(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)))),
            v4 => Self(v4),
        }
    }
}

impl fmt::Display for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(text: &str) -> String {
        ClientIp::from_ip(address(text).unwrap()).to_string()
    }

    #[test]
    fn r_express_rate_limit_cve_2026_30827_a_mapped_ipv4_is_that_ipv4() {
        assert_eq!(group("::ffff:1.2.3.4"), "1.2.3.4");
        assert_eq!(group("::FFFF:102:304"), "1.2.3.4");
    }

    #[test]
    fn r_truxify_pr12187_all_spellings_of_a_network_share_a_bucket() {
        for text in ["2001:db8::a:b", "2001:0db8:0000:0000:0000:0000:000a:000b", "2001:DB8::A:B", " 2001:db8::1 "] {
            assert_eq!(group(text), "2001:db8::/64");
        }
        assert_ne!(group("2001:db8:0:1::1"), "2001:db8::/64");
    }

    #[test]
    fn r_buzz_pr3784_a_zone_does_not_panic() {
        assert_eq!(group("fe80::1%eth0"), "fe80::/64");
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in ["", "1.2.3", "1.2.3.4, 5.6.7.8", "unknown", "1.2.3.4:80", "%", "é"] {
            assert!(address(text).is_none(), "{text:?}");
        }
    }
}
