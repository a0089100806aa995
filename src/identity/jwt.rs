//! The buyer's JWT (RFC 7519), signed by the shop's own sign-in.

use serde::{Deserialize, Serialize};

use super::jws::{self, Opened};
use super::keyring::{BadSecret, JwtFault, Keyring, Verifying};
use crate::model::{Algorithm, Millis, User};

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

/// What a user's JWT must be, as configured.
#[derive(Debug)]
pub struct Checks {
    algorithm: Algorithm,
    issuer: String,
    audience: String,
    leeway: Millis,
}

/// Longest `kid` that is looked for.
const KID_MAX: usize = 256;

impl Checks {
    /// Accepts tokens of `issuer` for `audience`, signed by `algorithm` whatever they say themselves.
    /// `leeway` is how far the issuer's clock may be off.
    #[must_use]
    pub fn new(algorithm: Algorithm, issuer: &str, audience: &str, leeway: Millis) -> Self {
        Self { algorithm, issuer: issuer.to_owned(), audience: audience.to_owned(), leeway }
    }

    /// The user that a token signed by one of the `secrets` names, at `now`.
    ///
    /// # Errors
    /// [`JwtFault`] when it is not valid, not yet valid, or over.
    pub fn by_secret(&self, secrets: &Verifying, token: &str, now: Millis) -> Result<User, JwtFault> {
        self.user(&secrets.open(token)?, now)
    }

    /// Takes a token apart whose signature the platform has to check.
    ///
    /// # Errors
    /// [`JwtFault::Invalid`] when it is no JWT, or of another algorithm.
    pub fn open<'t>(&self, token: &'t str) -> Result<Signed<'t>, JwtFault> {
        let opened = jws::open(token, self.algorithm.name())?;
        let long = opened.header.kid.as_ref().is_some_and(|kid| kid.len() > KID_MAX);
        if long { Err(JwtFault::Invalid) } else { Ok(Signed(opened)) }
    }

    /// The user that a token names whose signature is good, at `now`.
    ///
    /// # Errors
    /// [`JwtFault`] when it is not valid, not yet valid, or over.
    pub fn by_key(&self, Verified(opened): &Verified<'_>, now: Millis) -> Result<User, JwtFault> {
        self.user(opened, now)
    }

    fn user(&self, opened: &Opened<'_>, now: Millis) -> Result<User, JwtFault> {
        let claims: Read = opened.claims(&self.issuer, &self.audience)?;
        if Millis::from_secs(claims.exp).plus(self.leeway) <= now {
            return Err(JwtFault::Expired);
        }
        if Millis::from_secs(claims.nbf) > now.plus(self.leeway) {
            return Err(JwtFault::Invalid);
        }
        User::parse(&claims.sub).map_err(|_| JwtFault::Invalid)
    }
}

/// A token whose signature nobody has checked yet. Nothing that it says is believed.
#[derive(Debug)]
pub struct Signed<'t>(Opened<'t>);

/// A token whose signature is good.
#[derive(Debug)]
pub struct Verified<'t>(Opened<'t>);

impl<'t> Signed<'t> {
    /// Which key it says that it was signed with.
    #[must_use]
    pub fn kid(&self) -> Option<&str> {
        self.0.header.kid.as_deref()
    }

    /// What is signed.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        self.0.message.as_bytes()
    }

    /// The signature, as the algorithm has it.
    #[must_use]
    pub fn signature(&self) -> &[u8] {
        &self.0.signature
    }

    /// This, when its signature was found to be `good`.
    ///
    /// # Errors
    /// [`JwtFault::Invalid`] when it was not.
    pub fn found(self, good: bool) -> Result<Verified<'t>, JwtFault> {
        if good { Ok(Verified(self.0)) } else { Err(JwtFault::Invalid) }
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

    fn verify(secrets: &str, token: &str) -> Result<User, JwtFault> {
        checks(Algorithm::Hs256).by_secret(&Verifying::new(secrets).unwrap(), token, NOW)
    }

    fn checks(algorithm: Algorithm) -> Checks {
        Checks::new(algorithm, "shop", "sluice", Millis(0))
    }

    #[test]
    fn a_token_of_the_shop_names_its_user() {
        let token = sign(SECRET, &claims(1_800_000_001)).unwrap();
        assert_eq!(verify(SECRET, &token).unwrap().as_str(), "42");
    }

    #[test]
    fn a_rotated_secret_still_verifies_and_an_unknown_one_does_not() {
        let token = sign(SECRET, &claims(1_800_000_001)).unwrap();
        assert!(verify(&format!("{NEW},{SECRET}"), &token).is_ok());
        assert_eq!(verify(NEW, &token), Err(JwtFault::Invalid));
    }

    #[test]
    fn a_token_ends_at_its_exp() {
        let token = sign(SECRET, &claims(1_800_000_000)).unwrap();
        assert_eq!(verify(SECRET, &token), Err(JwtFault::Expired));
    }

    #[test]
    fn an_unsigned_token_or_another_algorithm_is_refused() {
        let payload = URL_SAFE_NO_PAD.encode(r#"{"iss":"shop","aud":"sluice","sub":"42","exp":1800000001}"#);
        for header in [r#"{"alg":"none"}"#, r#"{"alg":"None"}"#, r#"{"alg":"RS256"}"#, r#"{"alg":"HS512"}"#, "{}"] {
            let token = format!("{}.{payload}.", URL_SAFE_NO_PAD.encode(header));
            assert_eq!(verify(SECRET, &token), Err(JwtFault::Invalid), "{header}");
        }
        for text in ["", ".", "..", "a.b.c", "a.b", "é.é.é"] {
            assert_eq!(verify(SECRET, text), Err(JwtFault::Invalid), "{text:?}");
        }
    }

    #[test]
    fn another_issuer_or_audience_is_refused() {
        for (iss, aud) in [("other", "sluice"), ("shop", "other")] {
            let token =
                sign(SECRET, &UserClaims { iss: iss.into(), aud: aud.into(), ..claims(1_800_000_001) }).unwrap();
            assert_eq!(verify(SECRET, &token), Err(JwtFault::Invalid));
        }
    }

    #[test]
    fn a_short_secret_is_refused_at_start() {
        assert_eq!(Verifying::new("short").unwrap_err(), BadSecret::TooShort);
        assert_eq!(Verifying::new(" , ").unwrap_err(), BadSecret::Missing);
    }

    fn unsigned(header: &str, payload: &str) -> String {
        format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload))
    }

    const CLAIMS: &str = r#"{"iss":"shop","aud":"sluice","sub":"42","exp":1800000001}"#;

    #[test]
    fn a_token_for_the_platform_to_check_must_be_of_the_configured_algorithm() {
        for algorithm in Algorithm::ALL {
            for other in ["HS256", "ES256", "RS256", "EdDSA", "none", "HS512", "PS256", "es256"] {
                let token = unsigned(&format!(r#"{{"alg":"{other}","kid":"a"}}"#), CLAIMS);
                assert_eq!(checks(algorithm).open(&token).is_ok(), other == algorithm.name(), "{algorithm:?} {other}");
            }
        }
    }

    #[test]
    fn only_a_signature_that_was_found_good_is_believed() {
        let checks = checks(Algorithm::Es256);
        let token = unsigned(r#"{"alg":"ES256"}"#, CLAIMS);
        let opened = || checks.open(&token).unwrap();
        assert!(opened().found(false).is_err());
        let user = checks.by_key(&opened().found(true).unwrap(), NOW);
        assert_eq!(user.unwrap().as_str(), "42");
        for (header, payload) in [
            (r#"{"alg":"ES256"}"#, r#"{"iss":"other","aud":"sluice","sub":"42","exp":1800000001}"#),
            (r#"{"alg":"ES256"}"#, r#"{"iss":"shop","aud":"sluice","sub":"42"}"#),
            (r#"{"alg":"ES256"}"#, r#"{"iss":"shop","aud":"sluice","sub":"42","exp":1800000009,"nbf":1800000001}"#),
        ] {
            let token = unsigned(header, payload);
            let verified = checks.open(&token).unwrap().found(true).unwrap();
            assert_eq!(checks.by_key(&verified, NOW), Err(JwtFault::Invalid), "{header} {payload}");
        }
        let begins = r#"{"iss":"shop","aud":"sluice","sub":"42","exp":1800000009,"nbf":1800000000}"#;
        let token = unsigned(r#"{"alg":"ES256"}"#, begins);
        let verified = checks.open(&token).unwrap().found(true).unwrap();
        assert!(checks.by_key(&verified, NOW).is_ok(), "from its first second on");
    }

    #[test]
    fn an_extension_that_a_reader_must_understand_is_refused() {
        let token = unsigned(r#"{"alg":"ES256","crit":["x"],"x":1}"#, CLAIMS);
        assert!(checks(Algorithm::Es256).open(&token).is_err());
    }

    #[test]
    fn a_key_id_of_any_size_is_not_looked_for() {
        let token = |kid: &str| unsigned(&format!(r#"{{"alg":"ES256","kid":"{kid}"}}"#), CLAIMS);
        assert!(checks(Algorithm::Es256).open(&token(&"k".repeat(256))).is_ok());
        assert!(checks(Algorithm::Es256).open(&token(&"k".repeat(257))).is_err());
    }
}
