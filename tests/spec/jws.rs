//! Our reading of JWTs against a library's: on every combination of odd headers and claims both say the same, but where
//! ours is meant to be stricter.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm as Library, DecodingKey, Validation};
use serde::Deserialize;
use sha2::Sha256;
use sluice::identity::jwt::Checks;
use sluice::identity::keyring::{JwtFault, Verifying};
use sluice::model::{Algorithm, Millis};

use crate::stage::{NOW, USERS};

/// HS256 for the library, which ships none without curves and RSA.
struct Hs256(Hmac<Sha256>);

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: |algorithm, key: &DecodingKey| match algorithm {
        Library::HS256 => Ok(Box::new(Hs256(Hmac::new_from_slice(key.try_get_as_bytes()?).unwrap()))),
        _ => Err(ErrorKind::UnsupportedAlgorithm.into()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Error> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac.verify_slice(signature).map_err(Error::from_source)
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Library {
        Library::HS256
    }
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    #[allow(dead_code, reason = "must be there, as in ours")]
    exp: u64,
    #[serde(default)]
    #[allow(dead_code, reason = "must be a number, as in ours")]
    nbf: u64,
}

fn library(token: &str) -> Option<String> {
    let _ = PROVIDER.install_default();
    let mut validation = Validation::new(Library::HS256);
    validation.set_issuer(&["shop"]);
    validation.set_audience(&["sluice"]);
    validation.set_required_spec_claims(&["iss", "aud", "exp"]);
    (validation.validate_exp, validation.validate_nbf) = (false, false);
    let key = DecodingKey::from_secret(USERS.as_bytes()).unwrap();
    jsonwebtoken::decode::<Claims>(token, &key, &validation).ok().map(|data| data.claims.sub)
}

fn ours(token: &str) -> Option<String> {
    let checks = Checks::new(Algorithm::Hs256, "shop", "sluice", Millis(0));
    match checks.by_secret(&Verifying::new(USERS).unwrap(), token, Millis(NOW)) {
        Ok(user) => Some(user.as_str().to_owned()),
        Err(JwtFault::Invalid) => None,
        Err(JwtFault::Expired) => panic!("no claim of these is over"),
    }
}

fn signed(header: &str, claims: &str) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(USERS.as_bytes()).unwrap();
    mac.update(message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

const HEADERS: &[&str] = &[
    r#"{"alg":"HS256"}"#,
    r#"{"typ":"JWT","alg":"HS256","kid":"a"}"#,
    r#"{"alg":"HS256","kid":null,"typ":null}"#,
    r#"{"alg":"HS256","kid":7}"#,
    r#"{"alg":"HS256","alg":"none"}"#,
    r#"{"alg":"HS256","crit":[]}"#,
    r#"{"alg":"HS256","crit":["exp"],"exp":1}"#,
    r#"{"alg":"HS256","more":{"deep":[1,2.5,null]}}"#,
    r#"{"alg":"HS256",}"#,
    r#"{"alg":"HS256"} "#,
    r#"{"alg":"HS256"}x"#,
    r#"{"alg":"HS512"}"#,
    r#"{"alg":"none"}"#,
    r#"{"alg":"hs256"}"#,
    r#"{"alg":1}"#,
    r#"{"alg":null}"#,
    r#"{"typ":"JWT"}"#,
    r#"["HS256"]"#,
    r#""HS256""#,
    "",
];

const ISSUERS: &[&str] = &[r#""shop""#, r#""sho\u0070""#, r#""Shop""#, "null", "1", "{}", "[]"];

const AUDIENCES: &[&str] =
    &[r#""sluice""#, r#"["other","sluice"]"#, r#"["sluice",1]"#, r#"["other"]"#, "[]", r#""other""#, "null", "1", "{}"];

const SUBJECTS: &[&str] = &[r#""42""#, r#""101660004000155481467""#, "42", "null", r#"["42"]"#];

const ENDS: &[&str] =
    &["4000000000", "4000000000.5", "4e9", "-1", r#""4000000000""#, "null", "18446744073709551615", "1e400"];

const REST: &[&str] =
    &["", r#","nbf":0"#, r#","nbf":null"#, r#","nbf":"0""#, r#","more":[{}]"#, r#","sub":"43""#, ",", "}"];

#[test]
fn every_combination_is_read_as_the_library_reads_it() {
    let claims = |iss: &str, aud: &str, sub: &str, exp: &str, rest: &str| {
        format!(r#"{{"iss":{iss},"aud":{aud},"sub":{sub},"exp":{exp}{rest}}}"#)
    };
    let plain = claims(ISSUERS[0], AUDIENCES[0], SUBJECTS[0], ENDS[0], "");
    let mut tokens: Vec<(String, String)> =
        HEADERS.iter().map(|header| ((*header).to_owned(), plain.clone())).collect();
    for iss in ISSUERS {
        for aud in AUDIENCES {
            for sub in SUBJECTS {
                for exp in ENDS {
                    let some = REST.iter().map(|rest| (HEADERS[0].to_owned(), claims(iss, aud, sub, exp, rest)));
                    tokens.extend(some);
                }
            }
        }
    }
    let mut accepted = 0;
    for (header, claims) in &tokens {
        let token = signed(header, claims);
        let (ours, library) = (ours(&token), library(&token));
        accepted += usize::from(ours.is_some());
        assert_eq!(ours, library, "{header} {claims}");
    }
    assert!((20..tokens.len() / 2).contains(&accepted), "{accepted} of {}", tokens.len());
}

#[test]
fn a_token_that_is_bent_is_refused_by_both() {
    let good = signed(HEADERS[0], r#"{"iss":"shop","aud":"sluice","sub":"42","exp":4000000000}"#);
    assert_eq!((ours(&good).as_deref(), library(&good).as_deref()), (Some("42"), Some("42")));
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
    let bent = [
        format!("{header}.{payload}"),
        format!("{header}.{payload}."),
        format!("{header}.{payload}.{signature}="),
        format!("{header}.{payload}.{signature}."),
        format!(".{header}.{payload}.{signature}"),
        format!("{header}..{signature}"),
        format!("{header}.{payload}.{}", signature.replace(['-', '_'], "+")) + "A",
        format!("{header}.{payload} .{signature}"),
        format!("{header}=.{payload}.{signature}"),
        good.replace('.', ".."),
        String::new(),
    ];
    for token in bent {
        assert_eq!((ours(&token), library(&token)), (None, None), "{token}");
    }
}

#[test]
fn extensions_that_a_reader_must_understand_are_refused() {
    let claims = r#"{"iss":"shop","aud":"sluice","sub":"42","exp":4000000000}"#;
    let unencoded = signed(r#"{"alg":"HS256","b64":true,"crit":["b64"]}"#, claims);
    assert_eq!((ours(&unencoded), library(&unencoded).as_deref()), (None, Some("42")), "stricter than the library");
}
