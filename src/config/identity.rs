//! Who asks: the client's address, and the user's JWT.

use super::reader::{Faults, Place, Section};
use crate::model::Millis;

/// Where identity comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The platform's header, in lower case; nothing else is believed.
    pub ip_header: String,
    /// What happens when the platform sends none.
    pub ip_missing: IpMissing,
    /// `iss` of user JWTs.
    pub issuer: String,
    /// `aud` of user JWTs.
    pub audience: String,
    /// How far the issuer's clock may be off.
    pub leeway: Millis,
}

/// What happens to a request without a client address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpMissing {
    /// 400 `client_ip_missing`.
    Refuse,
    /// All such requests share the buckets of this limit, in place of the limits keyed by address.
    Shared(usize),
}

pub(super) fn identity(
    section: &Section<'_>,
    faults: &Faults,
    find: &dyn Fn(&str, &Place) -> Option<usize>,
) -> Option<Identity> {
    let header = section.text("ip_header", Some("cf-connecting-ip")).and_then(|(name, at)| {
        let fine = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        fine.then_some(name).or_else(|| {
            faults.note(&at, "`ip_header` must be a header name in lower case");
            None
        })
    });
    let missing = section.choice("ip_missing", &[("refuse", false), ("shared", true)], false);
    let shared = section.text("ip_missing_limit", Some(""));
    let ip_missing = match (missing?, shared?) {
        (false, (name, _)) if name.is_empty() => Some(IpMissing::Refuse),
        (true, (name, _)) if name.is_empty() => {
            section.fault("`ip_missing = \"shared\"` needs `ip_missing_limit`, the name of a [[limit]]");
            None
        }
        (true, (name, at)) => find(&name, &at).map(IpMissing::Shared),
        (false, (_, at)) => {
            faults.note(&at, "`ip_missing_limit` has no use unless `ip_missing = \"shared\"`");
            None
        }
    };
    let issuer = section.text("issuer", None);
    let audience = section.text("audience", None);
    let leeway = section.number("leeway_s", 0..=300, Some(5));
    section.finish();
    Some(Identity {
        ip_header: header?,
        ip_missing: ip_missing?,
        issuer: issuer?.0,
        audience: audience?.0,
        leeway: Millis::from_secs(leeway?),
    })
}
