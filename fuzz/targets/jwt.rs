//! A user's JWT: text that nobody signed is never accepted; of signed claims, just those that a plain reader accepts.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sluice::identity::jwt::Checks;
use sluice::identity::keyring::Verifying;
use sluice::model::{Algorithm, Millis};
use sluice_fuzz::{NOW, USERS, signed};

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    Text(&'a str),
    Signed { header: &'a str, claims: &'a str },
    Claims { issuer: Text<'a>, audience: Text<'a>, subject: &'a str, expires: i64, not_before: Option<i64> },
}

#[derive(Debug, Arbitrary)]
enum Text<'a> {
    Right,
    Any(&'a str),
}

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

fuzz_target!(|input: Input<'_>| {
    let secrets = Verifying::new(USERS).unwrap();
    let checks = Checks::new(Algorithm::Hs256, "shop", "sluice", Millis(0));
    let verify = |token: &str| checks.by_secret(&secrets, token, Millis(NOW));
    match input {
        Input::Text(text) => assert!(verify(text).is_err(), "{text}"),
        Input::Signed { header, claims } => {
            if let Ok(user) = verify(&signed(header, claims)) {
                let header: Value = serde_json::from_str(header).expect("a header that was accepted");
                let claims: Value = serde_json::from_str(claims).expect("claims that were accepted");
                assert_eq!(header["alg"], "HS256");
                assert_eq!(claims["sub"], user.as_str());
                assert!(claims["exp"].as_u64().is_some_and(|exp| exp.saturating_mul(1000) > NOW));
            }
        }
        Input::Claims { issuer, audience, subject, expires, not_before } => {
            let issuer = if let Text::Any(text) = issuer { text } else { "shop" };
            let audience = if let Text::Any(text) = audience { text } else { "sluice" };
            let mut claims = serde_json::json!({ "iss": issuer, "aud": audience, "sub": subject, "exp": expires });
            if let Some(nbf) = not_before {
                claims["nbf"] = nbf.into();
            }
            let accepted = verify(&signed(HEADER, &claims.to_string()));
            if let Ok(user) = &accepted {
                assert_eq!(user.as_str(), subject);
            }
            let holds = i128::from(expires) * 1000 > i128::from(NOW)
                && not_before.is_none_or(|nbf| (0..=i64::try_from(NOW / 1000).unwrap()).contains(&nbf));
            let right = issuer == "shop" && audience == "sluice" && holds && !subject.is_empty();
            assert!(accepted.is_err() || right, "{claims}");
        }
    }
});
