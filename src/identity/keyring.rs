//! Secrets of one purpose, and the JWTs they sign: the first signs, all verify, so that a secret can be rotated.

use std::fmt;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::hs256;

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

/// Signs and verifies the JWTs of one purpose. Time is not its business: callers check `exp` against their clock.
pub struct Keyring {
    header: Header,
    typ: Option<&'static str>,
    signing: EncodingKey,
    verifying: Vec<DecodingKey>,
    validation: Validation,
}

impl Keyring {
    /// Reads a comma-separated list of secrets. Tokens must carry `issuer` and `audience`, and `typ` where one is given.
    ///
    /// # Errors
    /// [`BadSecret`] when the list holds no usable secret.
    pub fn new(list: &str, issuer: &str, audience: &str, typ: Option<&'static str>) -> Result<Self, BadSecret> {
        hs256::install();
        let secrets = secrets(list)?;
        let first = secrets.first().ok_or(BadSecret::Missing)?;
        let signing = EncodingKey::from_secret(first).map_err(|_| BadSecret::TooShort)?;
        let verifying = secrets
            .iter()
            .map(|one| DecodingKey::from_secret(one).map_err(|_| BadSecret::TooShort))
            .collect::<Result<_, _>>()?;
        let mut header = Header::new(Algorithm::HS256);
        if let Some(typ) = typ {
            header.typ = Some(typ.to_owned());
        }
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["iss", "aud", "exp"]);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        Ok(Self { header, typ, signing, verifying, validation })
    }

    /// Signs `claims` with the first secret. Empty when they cannot be written as JSON, which no verifier accepts.
    #[must_use]
    pub fn sign<T: Serialize>(&self, claims: &T) -> String {
        jsonwebtoken::encode(&self.header, claims, &self.signing).unwrap_or_default()
    }

    /// The claims of a token that one of the secrets signed.
    ///
    /// # Errors
    /// [`JwtFault::Invalid`] for everything that is wrong with it; expiry is the caller's to check.
    pub fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, JwtFault> {
        for key in &self.verifying {
            match jsonwebtoken::decode::<T>(token, key, &self.validation) {
                Ok(data) if self.typ.is_some() && data.header.typ.as_deref() != self.typ => {
                    return Err(JwtFault::Invalid);
                }
                Ok(data) => return Ok(data.claims),
                Err(fault) if matches!(fault.kind(), ErrorKind::InvalidSignature) => {}
                Err(_) => return Err(JwtFault::Invalid),
            }
        }
        Err(JwtFault::Invalid)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("typ", &self.typ)
            .field("secrets", &self.verifying.len())
            .finish_non_exhaustive()
    }
}
