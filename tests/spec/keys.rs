//! Users' JWTs by public keys: which keys are believed, when they are fetched, and what is said when they cannot be.

use serde_json::{Value, json};
use sluice::gate::ports::{AskFault, Request};
use sluice::model::Algorithm;

use crate::signer::{Signer, key_set};
use crate::stage::{NOW, Stage, code, request, user_jwt, with};

const URL: &str = "https://id.example/keys";
const EXP: u64 = NOW / 1000 + 3600;
const PUBLIC: [Algorithm; 3] = [Algorithm::Es256, Algorithm::Rs256, Algorithm::EdDsa];

fn configured(algorithm: Algorithm) -> String {
    let keys = format!("[identity]\nalgorithm = \"{}\"\njwks_url = \"{URL}\"", algorithm.name());
    include_str!("../../gate.toml").replacen("[identity]", &keys, 1)
}

/// A request that Redis is not asked about once its user is known: the sale's page, which then fails at the stage's
/// origin; what is played is only who asks.
fn asked_by(jwt: &str) -> Request {
    with(request("GET", "/v1/sales/demo/orders/mine"), "authorization", &format!("Bearer {jwt}"))
}

fn passing(stage: Stage) -> Stage {
    stage.redis("[0,1800000000100,\"\",\"\",100000]").origin(200, &[], "{}")
}

#[track_caller]
fn is_refused(stage: &Stage, toml: &str, jwt: &str, status: u16, expected: &str) {
    let before = stage.asked.borrow().len();
    let response = stage.play_with(toml, asked_by(jwt));
    assert_eq!((response.status, code(&response).as_str()), (status, expected));
    assert_eq!(stage.asked.borrow().len(), before, "Redis was asked");
}

/// Plays a request of a user whom the gate should know; gives the stage back.
#[track_caller]
fn is_known(stage: Stage, toml: &str, jwt: &str) -> Stage {
    let stage = passing(stage);
    assert_eq!(stage.play_with(toml, asked_by(jwt)).status, 200);
    stage
}

#[test]
fn each_algorithm_names_its_user_and_the_set_is_fetched_once() {
    for algorithm in PUBLIC {
        let (toml, signer) = (configured(algorithm), Signer::new(algorithm, 0));
        let stage = is_known(Stage::default().service(200, &key_set(&[&signer])), &toml, &signer.jwt("42", EXP));
        let stage = is_known(stage, &toml, &signer.jwt("43", EXP));
        assert_eq!(*stage.inquiries.borrow(), [(URL.to_owned(), vec![])], "{algorithm:?}");
    }
}

#[test]
fn a_token_of_another_algorithm_or_of_nobody_is_refused_without_asking_for_keys() {
    for algorithm in PUBLIC {
        let (toml, signer) = (configured(algorithm), Signer::new(algorithm, 0));
        let stage = Stage::default();
        let claims = json!({ "iss": "https://shop.example", "aud": "sluice", "sub": "42", "exp": EXP });
        for alg in ["none", "None", "HS256", "HS512", "ES384", "PS256", "es256", ""] {
            let jwt = signer.sign(&json!({ "alg": alg, "kid": signer.kid }), &claims);
            is_refused(&stage, &toml, &jwt, 401, "identity_invalid");
        }
        for other in PUBLIC.into_iter().filter(|other| *other != algorithm) {
            is_refused(&stage, &toml, &Signer::new(other, 0).jwt("42", EXP), 401, "identity_invalid");
        }
        is_refused(&stage, &toml, &user_jwt("42"), 401, "identity_invalid");
        assert!(stage.inquiries.borrow().is_empty(), "{algorithm:?}");
    }
}

#[test]
fn a_secret_made_of_a_public_key_signs_nothing() {
    // The old confusion: an HS256 token whose secret is the text of the public key.
    let signer = Signer::new(Algorithm::Rs256, 0);
    let secret = signer.jwk()["n"].as_str().unwrap().to_owned();
    let claims = sluice::identity::jwt::UserClaims {
        iss: "https://shop.example".into(),
        aud: "sluice".into(),
        sub: "42".into(),
        exp: EXP,
    };
    let jwt = sluice::identity::jwt::sign(&secret, &claims).unwrap();
    is_refused(&Stage::default(), &configured(Algorithm::Rs256), &jwt, 401, "identity_invalid");
}

#[test]
fn a_changed_token_and_a_strangers_signature_are_refused() {
    for algorithm in PUBLIC {
        let (toml, signer) = (configured(algorithm), Signer::new(algorithm, 0));
        let stage = Stage::default().service(200, &key_set(&[&signer]));
        let jwt = signer.jwt("42", EXP);
        let other = signer.jwt("43", EXP);
        let [head, _, signature] = jwt.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
        let swapped = format!("{head}.{}.{signature}", other.split('.').nth(1).unwrap());
        let short = jwt[..jwt.len() - 4].to_owned();
        let mut stranger = Signer::new(algorithm, 1);
        stranger.kid = "first";
        let stranger = stranger.jwt("42", EXP);
        for bad in [swapped, short, stranger, format!("{head}.."), format!("{jwt}.{jwt}")] {
            is_refused(&stage, &toml, &bad, 401, "identity_invalid");
        }
        is_known(stage, &toml, &jwt);
    }
}

#[test]
fn claims_are_checked_as_ever() {
    let (toml, signer) = (configured(Algorithm::Es256), Signer::new(Algorithm::Es256, 0));
    let stage = Stage::default().service(200, &key_set(&[&signer]));
    is_refused(&stage, &toml, &signer.jwt("42", NOW / 1000 - 5), 401, "identity_expired");
    let sound = json!({ "iss": "https://shop.example", "aud": "sluice", "sub": "42", "exp": EXP });
    let wrong = [
        ("iss", json!("https://other.example")),
        ("aud", json!("sluice-origin")),
        ("sub", json!("")),
        ("sub", json!(42)),
        ("exp", Value::Null),
        ("nbf", json!(NOW / 1000 + 6)),
    ];
    for (name, value) in wrong {
        let mut claims = sound.clone();
        claims[name] = value;
        let jwt = signer.sign(&json!({ "alg": "ES256", "kid": "first" }), &claims);
        is_refused(&stage, &toml, &jwt, 401, "identity_invalid");
    }
    let stage = is_known(stage, &toml, &signer.jwt("42", NOW / 1000 - 4));
    // r_redis_js_37: ids beyond 2^53.
    let stage = is_known(stage, &toml, &signer.jwt("9007199254740993", EXP));
    let assertion =
        stage.forwarded.borrow()[1].headers.iter().find(|(n, _)| n == "sluice-assertion").unwrap().1.clone();
    let claims = sluice::assertion::Assertions::new(crate::stage::ASSERTIONS).unwrap();
    let vouched = claims.verify(&assertion, sluice::model::Millis(NOW)).unwrap();
    assert!(format!("{vouched:?}").contains("9007199254740993"));
}

#[test]
fn no_header_of_a_token_leads_anywhere() {
    let (toml, signer) = (configured(Algorithm::EdDsa), Signer::new(Algorithm::EdDsa, 0));
    let stranger = Signer::new(Algorithm::EdDsa, 1);
    let stage = Stage::default().service(200, &key_set(&[&signer]));
    let claims = json!({ "iss": "https://shop.example", "aud": "sluice", "sub": "42", "exp": EXP });
    for (name, value) in [
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/chain")),
        ("jwk", stranger.jwk()),
        ("x5c", json!(["MIIB"])),
    ] {
        let mut header = json!({ "alg": "EdDSA", "kid": "first" });
        header[name] = value;
        is_refused(&stage, &toml, &stranger.sign(&header, &claims), 401, "identity_invalid");
    }
    assert!(stage.inquiries.borrow().iter().all(|(url, _)| url == URL));
    assert_eq!(stage.inquiries.borrow().len(), 1);
}

#[test]
fn an_unknown_key_is_asked_for_once_within_the_floor_and_a_new_one_is_found_after_it() {
    let (toml, old) = (configured(Algorithm::Es256), Signer::new(Algorithm::Es256, 0));
    let new = Signer::new(Algorithm::Es256, 1);
    let stage = is_known(Stage::default().service(200, &key_set(&[&old])), &toml, &old.jwt("42", EXP));
    for _ in 0..100 {
        is_refused(&stage, &toml, &new.jwt("42", EXP), 401, "identity_invalid");
    }
    assert_eq!(stage.inquiries.borrow().len(), 1);
    stage.later(30_000);
    let stage = is_known(stage.service(200, &key_set(&[&old, &new])), &toml, &new.jwt("42", EXP));
    let stage = is_known(stage, &toml, &old.jwt("42", EXP));
    assert_eq!(stage.inquiries.borrow().len(), 2);
}

#[test]
fn a_set_of_some_age_is_fetched_after_the_answer_and_what_was_withdrawn_is_gone() {
    let (toml, old) = (configured(Algorithm::EdDsa), Signer::new(Algorithm::EdDsa, 0));
    let new = Signer::new(Algorithm::EdDsa, 1);
    let stage = is_known(Stage::default().service(200, &key_set(&[&old])), &toml, &old.jwt("42", EXP));
    stage.later(600_000);
    let stage = is_known(stage.service(200, &key_set(&[&new])), &toml, &old.jwt("42", EXP));
    assert_eq!(stage.inquiries.borrow().len(), 2);
    is_refused(&stage, &toml, &old.jwt("42", EXP), 401, "identity_invalid");
    is_known(stage, &toml, &new.jwt("42", EXP));
}

#[test]
fn without_keys_nobody_is_judged_and_the_sign_in_is_asked_again_soon() {
    let (toml, signer) = (configured(Algorithm::Es256), Signer::new(Algorithm::Es256, 0));
    let stage = Stage::default().service_fails(AskFault::Timeout);
    for _ in 0..10 {
        let response = stage.play_with(&toml, asked_by(&signer.jwt("42", EXP)));
        assert_eq!((response.status, code(&response).as_str()), (503, "identity_unavailable"));
        assert_eq!(response.get("retry-after"), Some("1"));
    }
    assert_eq!(stage.inquiries.borrow().len(), 1);
    assert_eq!(stage.faults(), [r#"{"event":"keys","fault":"no answer in time"}"#]);
    stage.later(1_000);
    is_known(stage.service(200, &key_set(&[&signer])), &toml, &signer.jwt("42", EXP));
}

#[test]
fn old_keys_outlive_whatever_the_sign_in_says_instead_of_keys() {
    let (toml, old) = (configured(Algorithm::Es256), Signer::new(Algorithm::Es256, 0));
    let new = Signer::new(Algorithm::Es256, 1);
    let mut stage = is_known(Stage::default().service(200, &key_set(&[&old])), &toml, &old.jwt("42", EXP));
    let moved = key_set(&[&new]);
    for (status, body) in [(500, ""), (302, moved.as_str()), (404, "{}"), (200, "<html>"), (200, r#"{"keys":[]}"#)] {
        stage.later(30_000);
        stage = stage.service(status, body);
        let response = stage.play_with(&toml, asked_by(&new.jwt("42", EXP)));
        assert_eq!((response.status, response.get("retry-after")), (503, Some("30")), "{status} {body}");
        stage = is_known(stage, &toml, &old.jwt("42", EXP));
    }
    stage.later(30_000);
    stage = stage.service_fails(AskFault::TooLarge);
    is_refused(&stage, &toml, &new.jwt("42", EXP), 503, "identity_unavailable");
    is_known(stage, &toml, &old.jwt("42", EXP));
}

#[test]
fn a_route_without_users_needs_no_keys() {
    let stage = Stage::default().redis("[0,1800000000100,\"1799999000000,1800003600000,0,5,1999\",\"\",100000]");
    let mut anonymous = request("GET", "/v1/sales/demo");
    anonymous.headers.retain(|(name, _)| name != "authorization");
    assert_eq!(stage.play_with(&configured(Algorithm::Rs256), anonymous).status, 200);
    assert!(stage.inquiries.borrow().is_empty());
}
