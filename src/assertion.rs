//! The assertion: a short-lived JWT in `Sluice-Assertion` by which the origin knows who was admitted, to what, and how.

use serde::{Deserialize, Serialize};

use crate::identity::keyring::{BadSecret, JwtFault, Keyring};
use crate::model::Millis;

/// The request header that carries it, as it is sent. Clients cannot: the edge strips every `Sluice-*` header first.
pub const HEADER: &str = "sluice-assertion";
/// Stands for the hash of a body that was sent on unread.
pub const UNREAD: &str = "-";
/// How long an assertion holds.
pub const LIFETIME: Millis = Millis(30_000);

const ISSUER: &str = "sluice-edge";
const AUDIENCE: &str = "sluice-origin";
const TYP: &str = "sluice-assertion+jwt";

/// What the edge vouches for. Names are short because they travel with every request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assertion {
    /// Verified user; absent on routes that allow none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// Client address as limits see it; absent when the platform gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// The sale in the path, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sku: Option<String>,
    /// Method of the request.
    pub mtd: String,
    /// Path and query, as forwarded.
    pub pth: String,
    /// SHA-256 of the body in base64url ([`crate::digest::body_hash`]), or [`UNREAD`]: nothing is said about it.
    pub bdy: String,
    /// The operation, on routes that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<Operation>,
}

/// An operation and its claim, as the origin completes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Op id: what the origin knows the operation by.
    pub id: String,
    /// Redis key of the claim.
    pub claim: String,
    /// The claim's owner.
    pub owner: String,
    /// Redis time in ms after which the origin must not begin it.
    pub not_after: u64,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    exp: u64,
    #[serde(flatten)]
    assertion: Assertion,
}

/// Signs assertions at the edge and verifies them at the origin.
#[derive(Debug)]
pub struct Assertions(Keyring);

impl Assertions {
    /// Takes a comma-separated list of secrets: the first signs, all verify.
    ///
    /// # Errors
    /// [`BadSecret`] when the list holds no usable secret.
    pub fn new(secrets: &str) -> Result<Self, BadSecret> {
        Keyring::new(secrets, ISSUER, AUDIENCE, Some(TYP)).map(Self)
    }

    /// The assertion as a JWT that ends [`LIFETIME`] after `now`.
    #[must_use]
    pub fn sign(&self, assertion: Assertion, now: Millis) -> String {
        let exp = now.plus(LIFETIME).ceil_secs();
        self.0.sign(&Claims { iss: ISSUER.to_owned(), aud: AUDIENCE.to_owned(), exp, assertion })
    }

    /// What a JWT vouches for at `now`.
    ///
    /// # Errors
    /// [`JwtFault`] when it is not one of ours, or over.
    pub fn verify(&self, token: &str, now: Millis) -> Result<Assertion, JwtFault> {
        let claims: Claims = self.0.verify(token)?;
        if Millis::from_secs(claims.exp) <= now { Err(JwtFault::Expired) } else { Ok(claims.assertion) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::jwt::{self, UserClaims};

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn assertion() -> Assertion {
        Assertion {
            sub: Some("42".into()),
            ip: Some("1.2.3.4".into()),
            sku: None,
            mtd: "GET".into(),
            pth: "/v1/orders/0-01".into(),
            bdy: String::new(),
            op: Some(Operation { id: "op".into(), claim: "k".into(), owner: "o".into(), not_after: 7 }),
        }
    }

    #[test]
    fn what_the_edge_signed_the_origin_reads_until_it_is_over() {
        let both = Assertions::new(SECRET).unwrap();
        let token = both.sign(assertion(), Millis(1_000_000));
        assert_eq!(both.verify(&token, Millis(1_000_000)).unwrap(), assertion());
        assert_eq!(both.verify(&token, Millis(1_030_000)), Err(JwtFault::Expired));
    }

    #[test]
    fn a_user_jwt_is_no_assertion_even_under_the_same_secret() {
        let claims = UserClaims { iss: ISSUER.into(), aud: AUDIENCE.into(), sub: "42".into(), exp: 9_999_999_999 };
        let token = jwt::sign(SECRET, &claims).unwrap();
        assert_eq!(Assertions::new(SECRET).unwrap().verify(&token, Millis(0)), Err(JwtFault::Invalid));
    }

    #[test]
    fn a_token_of_another_type_is_no_assertion_whatever_it_says() {
        let claims = || Claims { iss: ISSUER.into(), aud: AUDIENCE.into(), exp: 9_999_999_999, assertion: assertion() };
        let verify = |typ| {
            let token = Keyring::new(SECRET, ISSUER, AUDIENCE, typ).unwrap().sign(&claims());
            Assertions::new(SECRET).unwrap().verify(&token, Millis(0))
        };
        assert_eq!(verify(Some(TYP)), Ok(assertion()));
        for other in [None, Some("JWT"), Some("at+jwt"), Some("")] {
            assert_eq!(verify(other), Err(JwtFault::Invalid), "{other:?}");
        }
    }
}
