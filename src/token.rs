//! Order tokens: the one-time right to submit one order, bound to a user and a sale.
//!
//! `base64url(version ‖ id ‖ expiry ‖ user ‖ sku ‖ MAC)`: 1 + 16 + 8 + 16 + 16 + 32 bytes, 119 characters. User and SKU
//! stand in it as 128-bit hashes; the MAC is HMAC-SHA-256 over a domain string and everything before it.
//! The MAC is checked first, so a forged token is told from one that was issued to someone else.
//! A signed token is not written anywhere: the claim of its operation consumes it. A stored one is also a key in Redis,
//! written by the call that admits its issue and deleted by the one that creates the claim.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::digest::{self, Tag};
use crate::identity::keyring::{BadSecret, secrets};
use crate::model::{Millis, Sku, User};

/// How long a token holds after it was issued, or after the sale starts when that is later.
pub const LIFETIME: Millis = Millis(600_000);

const VERSION: u8 = 1;
const ID: usize = 16;
const TAG: usize = 16;
const SIGNED: usize = 1 + ID + 8 + TAG + TAG;
const MAC: usize = 32;
const DOMAIN: &[u8] = b"sluice order token";

/// Why an order token was not accepted. Never carries any part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not a token of this gate, or altered.
    #[error("the order token is not valid")]
    Invalid,
    /// Its time is over.
    #[error("the order token has expired")]
    Expired,
    /// Issued for another user or sale.
    #[error("the order token was issued for someone or something else")]
    NotYours,
}

/// A token that was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its id.
    pub id: Tag,
    /// When it ends.
    pub expires: Millis,
}

/// Issues and verifies order tokens.
pub struct OrderTokens(Vec<Hmac<Sha256>>);

impl OrderTokens {
    /// Takes a comma-separated list of secrets: the first signs, all verify.
    ///
    /// # Errors
    /// [`BadSecret`] when the list holds no usable secret.
    pub fn new(list: &str) -> Result<Self, BadSecret> {
        let keys = secrets(list)?.into_iter().map(|s| Hmac::new_from_slice(s).map_err(|_| BadSecret::TooShort));
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    /// A token with the given random id, for `user` to buy `sku` until `expires`.
    #[must_use]
    pub fn issue(&self, id: [u8; ID], user: &User, sku: &Sku, expires: Millis) -> String {
        let mut bytes = Vec::with_capacity(SIGNED + MAC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&id);
        bytes.extend_from_slice(&expires.0.to_be_bytes());
        bytes.extend_from_slice(&bound_to(user, sku));
        if let Some(key) = self.0.first() {
            let mac = mac(key, &bytes).finalize().into_bytes();
            bytes.extend_from_slice(&mac);
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Id and end of a token that this gate issued to `user` for `sku` and that holds at `now`.
    /// With `now` = `None` its age is not looked at: an operation that already has a claim outlives its token.
    ///
    /// # Errors
    /// [`TokenFault`]: forged before borrowed before expired, so that no age is told about a forged one.
    pub fn verify(&self, text: &str, user: &User, sku: &Sku, now: Option<Millis>) -> Result<Verified, TokenFault> {
        let mut bytes = [0; SIGNED + MAC];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(n) if n == bytes.len() => {}
            _ => return Err(TokenFault::Invalid),
        }
        let (signed, signature) = bytes.split_at(SIGNED);
        let (version, rest) = signed.split_at(1);
        let (id, rest) = rest.split_at(ID);
        let (expires, tags) = rest.split_at(8);
        if version != [VERSION] {
            return Err(TokenFault::Invalid);
        }
        if !self.0.iter().any(|key| mac(key, signed).verify_slice(signature).is_ok()) {
            return Err(TokenFault::Invalid);
        }
        if tags != bound_to(user, sku) {
            return Err(TokenFault::NotYours);
        }
        let expires = Millis(expires.try_into().map_or(0, u64::from_be_bytes));
        if now.is_some_and(|now| expires <= now) {
            return Err(TokenFault::Expired);
        }
        let id = id.try_into().map(Tag::of_bytes).map_err(|_| TokenFault::Invalid)?;
        Ok(Verified { id, expires })
    }
}

impl fmt::Debug for OrderTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderTokens").field("secrets", &self.0.len()).finish_non_exhaustive()
    }
}

fn mac(key: &Hmac<Sha256>, signed: &[u8]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(DOMAIN);
    mac.update(signed);
    mac
}

/// The hashes of user and SKU, as a token carries them.
fn bound_to(user: &User, sku: &Sku) -> [u8; 2 * TAG] {
    let mut both = [0; 2 * TAG];
    let (first, second) = both.split_at_mut(TAG);
    first.copy_from_slice(&digest::hash128(&[DOMAIN, b"user", user.as_str().as_bytes()]));
    second.copy_from_slice(&digest::hash128(&[DOMAIN, b"sku", sku.as_str().as_bytes()]));
    both
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: &str = "old-secret-000000000000000000000";
    const NEW: &str = "new-secret-000000000000000000000";
    const NOW: Millis = Millis(1_000);

    fn user(text: &str) -> User {
        User::parse(text).unwrap()
    }

    fn sku(text: &str) -> Sku {
        Sku::parse(text).unwrap()
    }

    fn token() -> String {
        OrderTokens::new(OLD).unwrap().issue([7; 16], &user("42"), &sku("demo"), Millis(2_000))
    }

    fn verify(secrets: &str, text: &str, who: &str, what: &str, now: u64) -> Result<Verified, TokenFault> {
        OrderTokens::new(secrets).unwrap().verify(text, &user(who), &sku(what), Some(Millis(now)))
    }

    #[test]
    fn a_token_holds_for_its_user_and_sale_until_it_ends() {
        assert_eq!(
            verify(OLD, &token(), "42", "demo", 1_999),
            Ok(Verified { id: Tag::of_bytes([7; 16]), expires: Millis(2_000) })
        );
        assert_eq!(verify(OLD, &token(), "42", "demo", 2_000), Err(TokenFault::Expired));
        assert_eq!(token().len(), 119);
    }

    #[test]
    fn a_borrowed_token_is_told_from_a_forged_one() {
        assert_eq!(verify(OLD, &token(), "43", "demo", 1), Err(TokenFault::NotYours));
        assert_eq!(verify(OLD, &token(), "42", "other", 1), Err(TokenFault::NotYours));
        assert_eq!(verify(NEW, &token(), "42", "demo", 1), Err(TokenFault::Invalid));
    }

    #[test]
    fn a_rotated_secret_still_verifies() {
        assert!(verify(&format!("{NEW},{OLD}"), &token(), "42", "demo", 1).is_ok());
    }

    #[test]
    fn an_operation_that_has_a_claim_outlives_its_token() {
        let tokens = OrderTokens::new(OLD).unwrap();
        assert!(tokens.verify(&token(), &user("42"), &sku("demo"), None).is_ok());
    }

    #[test]
    fn a_token_has_one_spelling_also_where_its_end_is_zeros() {
        let (tokens, user, sku) = (OrderTokens::new(OLD).unwrap(), user("42"), sku("demo"));
        let issued = (0..=u16::MAX).map(|n| {
            let mut id = [0; 16];
            id[..2].copy_from_slice(&n.to_be_bytes());
            URL_SAFE_NO_PAD.decode(tokens.issue(id, &user, &sku, Millis(2_000))).unwrap()
        });
        let ends_in_zero = issued.into_iter().find(|bytes| bytes.ends_with(&[0])).unwrap();
        let whole = URL_SAFE_NO_PAD.encode(&ends_in_zero);
        let cut = URL_SAFE_NO_PAD.encode(&ends_in_zero[..ends_in_zero.len() - 1]);
        assert!(tokens.verify(&whole, &user, &sku, Some(NOW)).is_ok());
        assert_eq!(tokens.verify(&cut, &user, &sku, Some(NOW)), Err(TokenFault::Invalid));
    }

    #[test]
    fn what_is_shown_of_the_secrets_is_their_number() {
        let shown = format!("{:?}", OrderTokens::new(&format!("{NEW},{OLD}")).unwrap());
        assert_eq!(shown, "OrderTokens { secrets: 2, .. }");
    }

    proptest! {
        #[test]
        fn a_changed_character_is_never_accepted(at in 0usize..119, to in "[A-Za-z0-9_-]") {
            let token = token();
            let mut forged = token.clone();
            forged.replace_range(at..=at, &to);
            prop_assume!(forged != token);
            prop_assert!(verify(OLD, &forged, "42", "demo", NOW.0).is_err());
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,120}") {
            prop_assert!(verify(OLD, &text, "42", "demo", NOW.0).is_err());
        }
    }
}
