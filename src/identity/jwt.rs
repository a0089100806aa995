//! The buyer's JWT (RFC 7519), signed by the shop's own sign-in with HS256.

use serde::{Deserialize, Serialize};

use super::keyring::{BadSecret, JwtFault, Keyring};
use crate::model::{Millis, User};

/// What the shop's sign-in puts into a user's JWT.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserClaims {
    /// Who issued it; must be the configured issuer.
    pub iss: String,
    /// Whom it is for; must be the configured audience.
    pub aud: String,
    /// The user.
    pub sub: String,
    /// Seconds since the epoch at which it ends.
    pub exp: u64,
}

/// The claims that the gate reads; `iss` and `aud` were compared by the keyring, in either of their JSON forms.
#[derive(Deserialize)]
struct Read {
    sub: String,
    exp: u64,
    #[serde(default)]
    nbf: u64,
}

/// Verifies user JWTs.
#[derive(Debug)]
pub struct UserTokens {
    keys: Keyring,
    leeway: Millis,
}

impl UserTokens {
    /// Accepts tokens of `issuer` for `audience`, signed by one of the comma-separated `secrets`.
    /// `leeway` is how far the issuer's clock may be off.
    ///
    /// # Errors
    /// [`BadSecret`] when the list holds no usable secret.
    pub fn new(secrets: &str, issuer: &str, audience: &str, leeway: Millis) -> Result<Self, BadSecret> {
        Ok(Self { keys: Keyring::new(secrets, issuer, audience, None)?, leeway })
    }

    /// The user that a token names, at `now`.
    ///
    /// # Errors
    /// [`JwtFault`] when it is not valid, not yet valid, or over.
    pub fn verify(&self, token: &str, now: Millis) -> Result<User, JwtFault> {
        let claims: Read = self.keys.verify(token)?;
        if Millis::from_secs(claims.exp).plus(self.leeway) <= now {
            return Err(JwtFault::Expired);
        }
        if Millis::from_secs(claims.nbf) > now.plus(self.leeway) {
            return Err(JwtFault::Invalid);
        }
        User::parse(&claims.sub).map_err(|_| JwtFault::Invalid)
    }
}

/// Signs a user's JWT as the shop's sign-in would: for demonstrations, load and tests.
///
/// # Errors
/// [`BadSecret`] when `secrets` holds no usable secret.
pub fn sign(secrets: &str, claims: &UserClaims) -> Result<String, BadSecret> {
    Ok(Keyring::new(secrets, &claims.iss, &claims.aud, None)?.sign(claims))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    const SECRET: &str = "an-old-secret-of-enough-bytes-000";
    const NEW: &str = "a-new-secret-of-enough-bytes-00000";
    const NOW: Millis = Millis(1_800_000_000_000);

    fn claims(exp: u64) -> UserClaims {
        UserClaims { iss: "shop".into(), aud: "sluice".into(), sub: "42".into(), exp }
    }

    fn verifier(secrets: &str) -> UserTokens {
        UserTokens::new(secrets, "shop", "sluice", Millis(0)).unwrap()
    }

    #[test]
    fn a_token_of_the_shop_names_its_user() {
        let token = sign(SECRET, &claims(1_800_000_001)).unwrap();
        assert_eq!(verifier(SECRET).verify(&token, NOW).unwrap().as_str(), "42");
    }

    #[test]
    fn a_rotated_secret_still_verifies_and_an_unknown_one_does_not() {
        let token = sign(SECRET, &claims(1_800_000_001)).unwrap();
        assert!(verifier(&format!("{NEW},{SECRET}")).verify(&token, NOW).is_ok());
        assert_eq!(verifier(NEW).verify(&token, NOW), Err(JwtFault::Invalid));
    }

    #[test]
    fn a_token_ends_at_its_exp() {
        let token = sign(SECRET, &claims(1_800_000_000)).unwrap();
        assert_eq!(verifier(SECRET).verify(&token, NOW), Err(JwtFault::Expired));
    }

    #[test]
    fn an_unsigned_token_or_another_algorithm_is_refused() {
        let payload = URL_SAFE_NO_PAD.encode(r#"{"iss":"shop","aud":"sluice","sub":"42","exp":1800000001}"#);
        for header in [r#"{"alg":"none"}"#, r#"{"alg":"None"}"#, r#"{"alg":"RS256"}"#, r#"{"alg":"HS512"}"#, "{}"] {
            let token = format!("{}.{payload}.", URL_SAFE_NO_PAD.encode(header));
            assert_eq!(verifier(SECRET).verify(&token, NOW), Err(JwtFault::Invalid), "{header}");
        }
        for text in ["", ".", "..", "a.b.c", "a.b", "é.é.é"] {
            assert_eq!(verifier(SECRET).verify(text, NOW), Err(JwtFault::Invalid), "{text:?}");
        }
    }

    #[test]
    fn another_issuer_or_audience_is_refused() {
        for (iss, aud) in [("other", "sluice"), ("shop", "other")] {
            let token =
                sign(SECRET, &UserClaims { iss: iss.into(), aud: aud.into(), ..claims(1_800_000_001) }).unwrap();
            assert_eq!(verifier(SECRET).verify(&token, NOW), Err(JwtFault::Invalid));
        }
    }

    #[test]
    fn a_short_secret_is_refused_at_start() {
        assert_eq!(UserTokens::new("short", "a", "b", Millis(0)).unwrap_err(), BadSecret::TooShort);
        assert_eq!(UserTokens::new(" , ", "a", "b", Millis(0)).unwrap_err(), BadSecret::Missing);
    }
}
