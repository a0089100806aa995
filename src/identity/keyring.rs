//! Secrets of one purpose, and the JWTs they sign: the first signs, all verify, so that a secret can be rotated.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use super::jws::{self, Opened};

/// The algorithm of every secret.
const HS256: &str = "HS256";

/// Shortest secret, in bytes: RFC 7518 section 3.2 demands as many bits as the hash has.
pub const SECRET_MIN: usize = 32;

/// Why a list of secrets cannot be used. Never carries a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// The list is empty.
    #[error("no secret is set")]
    Missing,
    /// One of them is shorter than [`SECRET_MIN`].
    #[error("a secret is shorter than {SECRET_MIN} bytes")]
    TooShort,
}

/// Why a JWT was not accepted. Never carries any part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwtFault {
    /// Malformed, signed by another, with another algorithm, or for another purpose.
    #[error("the token is not valid")]
    Invalid,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
}

/// Splits a comma-separated list of secrets.
///
/// # Errors
/// [`BadSecret`] when there is none, or one is too short.
pub fn secrets(list: &str) -> Result<Vec<&[u8]>, BadSecret> {
    let all: Vec<&[u8]> = list.split(',').map(|one| one.trim().as_bytes()).filter(|one| !one.is_empty()).collect();
    match all.iter().map(|one| one.len()).min() {
        None => Err(BadSecret::Missing),
        Some(shortest) if shortest < SECRET_MIN => Err(BadSecret::TooShort),
        Some(_) => Ok(all),
    }
}

/// The secrets of one purpose, as far as they verify.
pub struct Verifying(Vec<Hmac<Sha256>>);

impl Verifying {
    /// Reads a comma-separated list of secrets.
    ///
    /// # Errors
    /// [`BadSecret`] when the list holds no usable secret.
    pub fn new(list: &str) -> Result<Self, BadSecret> {
        let keys = secrets(list)?.into_iter();
        let keys = keys.map(|one| Hmac::new_from_slice(one).map_err(|_| BadSecret::TooShort));
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    /// A token that one of the secrets signed.
    pub(super) fn open<'t>(&self, token: &'t str) -> Result<Opened<'t>, JwtFault> {
        let opened = jws::open(token, HS256)?;
        let signed = |key| after(key, opened.message).verify_slice(&opened.signature).is_ok();
        if self.0.iter().any(signed) { Ok(opened) } else { Err(JwtFault::Invalid) }
    }
}

fn after(key: &Hmac<Sha256>, message: &str) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(message.as_bytes());
    mac
}

impl fmt::Debug for Verifying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifying").field("secrets", &self.0.len()).finish_non_exhaustive()
    }
}

/// Signs and verifies the JWTs of one purpose. Time is not its business: callers check `exp` against their clock.
#[derive(Debug)]
pub struct Keyring {
    typ: Option<&'static str>,
    keys: Verifying,
    issuer: String,
    audience: String,
}

impl Keyring {
    /// Reads a comma-separated list of secrets. Tokens must carry `issuer` and `audience`, and `typ` where one is given.
    ///
    /// # Errors
    /// [`BadSecret`] when the list holds no usable secret.
    pub fn new(list: &str, issuer: &str, audience: &str, typ: Option<&'static str>) -> Result<Self, BadSecret> {
        Ok(Self { typ, keys: Verifying::new(list)?, issuer: issuer.to_owned(), audience: audience.to_owned() })
    }

    /// Signs `claims` with the first secret. Claims that cannot be written as JSON make a token that nobody accepts.
    #[must_use]
    pub fn sign<T: Serialize>(&self, claims: &T) -> String {
        let message = jws::message(self.typ.unwrap_or("JWT"), claims);
        // There is a first one: `Verifying` is made of at least one secret.
        let signature = self.keys.0.first().map(|key| after(key, &message).finalize().into_bytes());
        jws::token(&message, signature.as_deref().unwrap_or_default())
    }

    /// The claims of a token that one of the secrets signed.
    ///
    /// # Errors
    /// [`JwtFault::Invalid`] for everything that is wrong with it; expiry is the caller's to check.
    pub fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, JwtFault> {
        let opened = self.keys.open(token)?;
        if self.typ.is_some() && opened.header.typ.as_deref() != self.typ {
            return Err(JwtFault::Invalid);
        }
        opened.claims(&self.issuer, &self.audience)
    }
}
