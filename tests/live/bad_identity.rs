//! Users that cannot show who they are: refused before anything is stored or forwarded.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice::identity::jwt::{UserClaims, sign};
use xtask::clock;

use crate::http::Answer;
use crate::scene::Scene;

/// The routes that demand a user, asked with one value of `Authorization`.
async fn ask_all(scene: &Scene, authorization: Option<&str>) -> Vec<Answer> {
    let edge = &scene.edge;
    let token = edge.token("42", "demo");
    let calls = [
        edge.issue("42", "demo"),
        edge.order("42", "demo", &token),
        edge.get("/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B").user("42"),
        edge.get("/v1/sales/demo/orders/mine").user("42"),
    ];
    let mut answers = Vec::new();
    for call in calls {
        let call = match authorization {
            Some(value) => call.header("authorization", value),
            None => call.without("authorization"),
        };
        answers.push(call.send().await);
    }
    answers
}

async fn are_refused(scene: &Scene, authorization: Option<&str>, code: &str, about: &str) {
    for answer in ask_all(scene, authorization).await {
        answer.is_refused(401, code, about);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

fn claims(scene: &Scene) -> (String, UserClaims) {
    let claims = UserClaims {
        iss: "https://shop.example".into(),
        aud: "sluice".into(),
        sub: "42".into(),
        exp: clock::unix_ms() / 1000 + 600,
    };
    (scene.stack.secrets().user_jwt.clone(), claims)
}

#[tokio::test]
async fn without_a_valid_jwt_no_route_for_users_answers_and_nothing_is_stored() {
    let scene = Scene::start().await;
    are_refused(&scene, None, "identity_missing", "no JWT").await;
    let good = scene.edge.jwt("42");
    let halves: Vec<&str> = good.split('.').collect();
    let unsigned = |header: &str| format!("Bearer {}.{}.", URL_SAFE_NO_PAD.encode(header), halves[1]);
    let other_payload = URL_SAFE_NO_PAD.encode(r#"{"iss":"https://shop.example","aud":"sluice","sub":"1","exp":9e9}"#);
    let values = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer x".to_owned(),
        "Bearer a.b.c".to_owned(),
        "Basic NDI6eA==".to_owned(),
        good.clone(),
        format!("Bearer {good}x"),
        format!("Bearer {good}, Bearer {good}"),
        format!("Bearer {}", &good[..good.len() - 5]),
        format!("Bearer {}.{other_payload}.{}", halves[0], halves[2]),
        format!("Bearer {}", "a".repeat(6_000)),
        unsigned(r#"{"alg":"none","typ":"JWT"}"#),
        unsigned(r#"{"alg":"None"}"#),
        unsigned(r#"{"typ":"JWT"}"#),
        format!("{}{}", unsigned(r#"{"alg":"none"}"#), halves[2]),
        format!("{}{}", unsigned(r#"{"alg":"HS512"}"#), halves[2]),
    ];
    for value in &values {
        are_refused(&scene, Some(value), "identity_invalid", value).await;
    }
    scene.is_untouched("JWTs");
}

#[tokio::test]
async fn an_expired_jwt_is_told_so_and_nothing_is_stored() {
    let scene = Scene::start().await;
    let (secret, claims) = claims(&scene);
    for age in [6, 60, 1_000_000] {
        let over = UserClaims { exp: clock::unix_ms() / 1000 - age, ..claims.clone() };
        let jwt = format!("Bearer {}", sign(&secret, &over).unwrap());
        are_refused(&scene, Some(&jwt), "identity_expired", "expired").await;
    }
    scene.is_untouched("expired");
}

#[tokio::test]
async fn a_jwt_for_another_purpose_or_user_that_cannot_be_is_refused() {
    let scene = Scene::start().await;
    let (secret, claims) = claims(&scene);
    let secrets = scene.stack.secrets();
    let edge_assertion = UserClaims { iss: "sluice-edge".into(), aud: "sluice-origin".into(), ..claims.clone() };
    let cases = [
        ("another issuer", secret.clone(), UserClaims { iss: "https://shop.example/".into(), ..claims.clone() }),
        ("no issuer", secret.clone(), UserClaims { iss: String::new(), ..claims.clone() }),
        ("another audience", secret.clone(), UserClaims { aud: "sluice-origin".into(), ..claims.clone() }),
        ("no user", secret.clone(), UserClaims { sub: String::new(), ..claims.clone() }),
        ("a user too long", secret.clone(), UserClaims { sub: "x".repeat(129), ..claims.clone() }),
        ("a user with a line feed", secret.clone(), UserClaims { sub: "4\n2".into(), ..claims.clone() }),
        ("the secret of order tokens", secrets.order_token.clone(), claims.clone()),
        ("the secret of assertions", secrets.assertion.clone(), claims.clone()),
        ("an assertion", secrets.assertion.clone(), edge_assertion),
        ("the bridge's token", secrets.bridge.clone(), claims),
    ];
    for (about, secret, claims) in cases {
        let jwt = format!("Bearer {}", sign(&secret, &claims).unwrap());
        are_refused(&scene, Some(&jwt), "identity_invalid", about).await;
    }
    scene.is_untouched("purposes");
}

#[tokio::test]
async fn where_a_user_is_optional_a_bad_jwt_is_still_refused() {
    let scene = Scene::start().await;
    let answer = scene.edge.get("/v1/sales/demo/details").bearer("a.b.c").send().await;
    answer.is_refused(401, "identity_invalid", "optional");
    scene.is_untouched("optional");
    scene.edge.get("/v1/sales/demo/details").send().await.is(202);
}
