//! Who asks: the client's address, and the user's JWT.

use super::reader::{Faults, Place, Section};
use super::words::web_address;
use crate::model::{Algorithm, Millis};

/// Where identity comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The platform's header, in lower case; nothing else is believed.
    pub ip_header: String,
    /// What happens when the platform sends none.
    pub ip_missing: IpMissing,
    /// How user JWTs are signed, whatever they say themselves.
    pub algorithm: Algorithm,
    /// Where their public keys are found; none for [`Algorithm::Hs256`], whose secret is in the environment.
    pub jwks: Option<Jwks>,
    /// `iss` of user JWTs.
    pub issuer: String,
    /// `aud` of user JWTs.
    pub audience: String,
    /// How far the issuer's clock may be off.
    pub leeway: Millis,
    /// Whether a user's JWT may be revoked by its `jti`, which it must then have.
    pub revocation: bool,
}

/// Where a set of public keys is found, and when it is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwks {
    /// Its address; nothing that a token says leads elsewhere.
    pub url: String,
    /// A set of this age is fetched anew.
    pub refresh: Millis,
    /// The least time between two fetches of one isolate.
    pub floor: Millis,
    /// How long one fetch may take.
    pub deadline: Millis,
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
    let algorithm = section.choice("algorithm", &Algorithm::ALL.map(|one| (one.name(), one)), false);
    let jwks = jwks(section, faults, algorithm?);
    let issuer = section.text("issuer", None);
    let audience = section.text("audience", None);
    let revocation = section.flag("revocation", false);
    let leeway = section.number("leeway_s", 0..=300, Some(5));
    section.finish();
    Some(Identity {
        ip_header: header?,
        ip_missing: ip_missing?,
        algorithm: algorithm?,
        jwks: jwks?,
        issuer: issuer?.0,
        audience: audience?.0,
        leeway: Millis::from_secs(leeway?),
        revocation: revocation?,
    })
}

fn jwks(section: &Section<'_>, faults: &Faults, algorithm: Algorithm) -> Option<Option<Jwks>> {
    let url = section.text("jwks_url", Some(""))?;
    let refresh = section.number("jwks_refresh_s", 10..=86_400, Some(600));
    let floor = section.number("jwks_floor_s", 1..=3_600, Some(30));
    let deadline = section.number("jwks_deadline_ms", 100..=10_000, Some(2_000));
    match (algorithm, url) {
        (Algorithm::Hs256, (url, _)) if url.is_empty() => Some(None),
        (Algorithm::Hs256, (_, at)) => {
            faults.note(&at, "`jwks_url` has no use with `algorithm = \"HS256\"`, whose secret is in the environment");
            None
        }
        (_, (url, _)) if url.is_empty() => {
            section.fault(format!("`algorithm = \"{}\"` needs `jwks_url`", algorithm.name()));
            None
        }
        (_, (url, at)) => Some(Some(Jwks {
            url: web_address(faults, "jwks_url", url, &at)?,
            refresh: Millis::from_secs(refresh?),
            floor: Millis::from_secs(floor?),
            deadline: Millis(deadline?),
        })),
    }
}
