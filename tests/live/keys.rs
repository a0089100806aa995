//! Users' JWTs by public keys, checked by the platform in workerd, with a sign-in that serves its key set.

use std::sync::{Arc, Mutex};

use sluice::model::Algorithm;
use xtask::clock;

use crate::foreign::{Foreign, answer};
use crate::scene::{Scene, builder};
use crate::signer::{Signer, key_set};

const PUBLIC: [Algorithm; 3] = [Algorithm::Es256, Algorithm::Rs256, Algorithm::EdDsa];

/// A sign-in that serves what it is told to.
struct SignIn {
    service: Foreign,
    says: Arc<Mutex<(u16, String)>>,
}

impl SignIn {
    async fn start(keys: &[&Signer]) -> Self {
        let says = Arc::new(Mutex::new((200, key_set(keys))));
        let told = Arc::clone(&says);
        let service = Foreign::start(move |_| {
            let (status, body) = told.lock().unwrap().clone();
            async move { answer(status, &[("content-type", "application/json"), ("location", "/elsewhere")], body) }
        })
        .await;
        Self { service, says }
    }

    fn says(&self, status: u16, body: String) {
        *self.says.lock().unwrap() = (status, body);
    }

    fn asked(&self) -> usize {
        self.service.seen().len()
    }

    /// A gate that believes this sign-in. It has no secret for users.
    async fn gate(&self, algorithm: Algorithm, more: &str) -> Scene {
        let identity = format!(
            "[identity]\nalgorithm = \"{}\"\njwks_url = \"{}/keys\"\n{more}",
            algorithm.name(),
            self.service.url()
        );
        let toml = include_str!("../../gate.toml").replacen("[identity]", &identity, 1);
        let builder = builder().gate_toml(&toml).unwrap().binding("USER_JWT_SECRET", "");
        Scene::built(builder, Foreign::accepting().await).await
    }
}

fn exp() -> u64 {
    clock::unix_ms() / 1000 + 600
}

async fn ask(scene: &Scene, jwt: &str) -> crate::http::Answer {
    scene.edge.get("/v1/sales/demo/orders/mine").bearer(jwt).send().await
}

#[tokio::test]
async fn each_algorithm_with_a_rotated_key_and_keys_that_outlive_the_sign_in() {
    for algorithm in PUBLIC {
        let (old, new) = (Signer::new(algorithm, 0), Signer::new(algorithm, 1));
        let sign_in = SignIn::start(&[&old]).await;
        let scene = sign_in.gate(algorithm, "jwks_floor_s = 1").await;
        let order = |jwt: &str| scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).bearer(jwt).send();
        order(&old.jwt("42", exp())).await.is(202);
        order(&old.jwt("42", exp())).await.is(202);
        assert_eq!(sign_in.asked(), 1, "{algorithm:?}: one fetch, then the imported key again");

        // Rotated: the new key is found once the floor has passed, and the old one is still there.
        sign_in.says(200, key_set(&[&old, &new]));
        let deadline = clock::now() + std::time::Duration::from_secs(10);
        let found = loop {
            let answer = ask(&scene, &new.jwt("42", exp())).await;
            if answer.status != 401 || clock::now() >= deadline {
                break answer;
            }
            answer.is_refused(401, "identity_invalid", "not within the floor");
            tokio::time::sleep(clock::POLL).await;
        };
        found.is(202);
        assert_eq!(sign_in.asked(), 2, "{algorithm:?}: however often it was tried");
        ask(&scene, &old.jwt("42", exp())).await.is(202);

        // Away: both keys hold, a third one cannot be judged.
        sign_in.says(302, key_set(&[&old]));
        let mut third = Signer::new(algorithm, 0);
        third.kid = "third";
        let deadline = clock::now() + std::time::Duration::from_secs(10);
        loop {
            let answer = ask(&scene, &third.jwt("42", exp())).await;
            if answer.status == 503 || clock::now() >= deadline {
                answer.is_refused(503, "identity_unavailable", "a redirect is no key set");
                assert_eq!(answer.header("retry-after"), Some("1"));
                break;
            }
            tokio::time::sleep(clock::POLL).await;
        }
        ask(&scene, &new.jwt("42", exp())).await.is(202);
        ask(&scene, &old.jwt("42", exp())).await.is(202);
        assert!(sign_in.service.seen().iter().all(|seen| seen.target == "/keys"), "a redirect was followed");
    }
}

#[tokio::test]
async fn a_flood_of_unknown_keys_asks_the_sign_in_once() {
    let (old, stranger) = (Signer::new(Algorithm::Es256, 0), Signer::new(Algorithm::Es256, 1));
    let sign_in = SignIn::start(&[&old]).await;
    let scene = sign_in.gate(Algorithm::Es256, "jwks_floor_s = 3600").await;
    let jwt = stranger.jwt("42", exp());
    // Also at the very start, when the isolate has nothing yet: one fetches, the others wait for it.
    let all = futures_util::future::join_all((0..50).map(|_| ask(&scene, &jwt))).await;
    for answer in all {
        answer.is_refused(401, "identity_invalid", "a key that is in no set");
    }
    assert_eq!(sign_in.asked(), 1);
    ask(&scene, &old.jwt("42", exp())).await.is(202);
    assert_eq!(sign_in.asked(), 1);
}

#[tokio::test]
async fn what_a_token_says_of_algorithm_and_keys_is_not_believed() {
    let stranger = Signer::new(Algorithm::EdDsa, 1);
    let elsewhere = SignIn::start(&[&stranger]).await;
    let signer = Signer::new(Algorithm::EdDsa, 0);
    let sign_in = SignIn::start(&[&signer]).await;
    let scene = sign_in.gate(Algorithm::EdDsa, "").await;
    let claims = serde_json::json!({ "iss": "https://shop.example", "aud": "sluice", "sub": "42", "exp": exp() });
    for header in [
        serde_json::json!({ "alg": "none" }),
        serde_json::json!({ "alg": "HS256", "kid": "first" }),
        serde_json::json!({ "alg": "ES256", "kid": "first" }),
    ] {
        ask(&scene, &signer.sign(&header, &claims)).await.is_refused(401, "identity_invalid", &header.to_string());
    }
    for name in ["jku", "x5u"] {
        let mut header = serde_json::json!({ "alg": "EdDSA", "kid": "second" });
        header[name] = format!("{}/keys", elsewhere.service.url()).into();
        ask(&scene, &stranger.sign(&header, &claims)).await.is_refused(401, "identity_invalid", name);
    }
    let mut forged = stranger;
    forged.kid = "first";
    ask(&scene, &forged.jwt("42", exp())).await.is_refused(401, "identity_invalid", "another key's signature");
    let by_secret = scene.edge.jwt("42");
    ask(&scene, &by_secret).await.is_refused(401, "identity_invalid", "HS256");
    ask(&scene, &signer.jwt("42", exp() - 1_000)).await.is_refused(401, "identity_expired", "over");
    assert_eq!(elsewhere.asked(), 0);
    scene.is_untouched("tokens that are not believed");
    ask(&scene, &signer.jwt("9007199254740993", exp())).await.is(202);
}
