//! A JWT's structure (RFC 7515 and RFC 7519): three parts in base64url, a header, and the claims that every purpose
//! pins. Signatures are the `hmac` crate's or the platform's to check. Nothing here reads a clock.
//!
//! Small on purpose: a library for it brings readers of every kind of key and claim, which would be a seventh of the
//! edge's wasm. Tests hold it against such a library (tests/spec/jws.rs).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

use super::keyring::JwtFault;

/// A token taken apart. Nothing that it says is believed yet.
#[derive(Debug)]
pub(super) struct Opened<'t> {
    pub(super) header: Header,
    /// What is signed: the first two parts and the dot between them.
    pub(super) message: &'t str,
    pub(super) signature: Vec<u8>,
    payload: Vec<u8>,
}

/// The members of a header that mean something here. Where keys are to be found is not among them.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) typ: Option<String>,
    pub(super) kid: Option<String>,
    /// Extensions that a reader must understand; this one understands none.
    crit: Option<IgnoredAny>,
}

/// The claims that every purpose pins.
#[derive(Deserialize)]
struct Pinned<'a> {
    iss: String,
    /// One text, or a list of them.
    #[serde(borrow)]
    aud: &'a RawValue,
}

/// Takes a token apart whose header says that it is signed by `alg`.
pub(super) fn open<'t>(token: &'t str, alg: &str) -> Result<Opened<'t>, JwtFault> {
    let (message, signature) = token.rsplit_once('.').ok_or(JwtFault::Invalid)?;
    let (header, payload) = message.split_once('.').ok_or(JwtFault::Invalid)?;
    let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| JwtFault::Invalid)?;
    if header.alg != alg || header.crit.is_some() {
        return Err(JwtFault::Invalid);
    }
    Ok(Opened { header, message, signature: bytes(signature)?, payload: bytes(payload)? })
}

fn bytes(part: &str) -> Result<Vec<u8>, JwtFault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtFault::Invalid)
}

impl Opened<'_> {
    /// The claims of a token whose signature is good, when they are `issuer`'s for `audience`.
    pub(super) fn claims<T: DeserializeOwned>(&self, issuer: &str, audience: &str) -> Result<T, JwtFault> {
        let pinned: Pinned<'_> = serde_json::from_slice(&self.payload).map_err(|_| JwtFault::Invalid)?;
        if pinned.iss != issuer || !names(pinned.aud.get(), audience) {
            return Err(JwtFault::Invalid);
        }
        serde_json::from_slice(&self.payload).map_err(|_| JwtFault::Invalid)
    }
}

/// Whether a JSON text is `audience`, or a list that has it.
fn names(json: &str, audience: &str) -> bool {
    if json.starts_with('[') {
        let all: Vec<String> = serde_json::from_str(json).unwrap_or_default();
        all.iter().any(|one| one == audience)
    } else {
        serde_json::from_str::<String>(json).is_ok_and(|one| one == audience)
    }
}

/// The first two parts of a token that is to be signed by HS256; empty when the claims cannot be written as JSON.
pub(super) fn message<T: serde::Serialize>(typ: &str, claims: &T) -> String {
    let header = format!(r#"{{"typ":"{typ}","alg":"HS256"}}"#);
    let claims = serde_json::to_vec(claims).unwrap_or_default();
    format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
}

/// A token out of its message and signature.
pub(super) fn token(message: &str, signature: &[u8]) -> String {
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}
