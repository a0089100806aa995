//! Names of Redis keys as whole requests make them: one slot a call, one layout a prefix, and no text that reaches another.

use std::collections::HashSet;

use sluice::gate::ports::Request;

use crate::stage::{NOW, Stage, USERS, order_token, request, with};

const ADMITTED: &str = "[0,1800000000000,\"\",\"\",0,0]";
const TOML: &str = include_str!("../../gate.toml");
/// Subjects that mean something to patterns, cluster tags, separators, protocols and terminals.
const HOSTILE: [&str; 13] =
    ["a*", "[x]", "a?", "{u}", "}{", ":", "a:b", "sl1:{p0}:b:user:x", "\\", "'\"", "昵称", "🙂", "*"];

/// The keys of one call.
fn keys(toml: &str, request: Request) -> Vec<String> {
    let stage = Stage::default().redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "{}");
    stage.play_with(toml, request);
    assert_eq!(stage.asked.borrow().len(), 1);
    stage.keys(0)
}

fn buys(user: &str, sku: &str) -> Request {
    let claims = sluice::identity::jwt::UserClaims {
        iss: "https://shop.example".into(),
        aud: "sluice".into(),
        sub: user.into(),
        exp: NOW / 1000 + 60,
    };
    let jwt = sluice::identity::jwt::sign(USERS, &claims).unwrap();
    let mut request = with(request("POST", &format!("/v1/sales/{sku}/orders")), "content-type", "application/json");
    request.body = sluice::gate::ports::Body::Whole(br#"{"quantity":1}"#.to_vec());
    let request = with(request, "authorization", &format!("Bearer {jwt}"));
    match sluice::model::User::parse(user) {
        Ok(_) => with(request, "sluice-order-token", &order_token(1, user, sku)),
        Err(_) => request,
    }
}

#[test]
fn r_ratelimit_js_reset_no_subject_of_a_request_reaches_another_ones_key() {
    let mut seen = HashSet::new();
    let long = "u".repeat(128);
    for user in HOSTILE.into_iter().chain([long.as_str(), "42"]) {
        let keys = keys(TOML, buys(user, "demo"));
        let bucket = keys.iter().find(|key| key.contains(":b:user:")).unwrap().clone();
        assert_eq!(bucket.len(), "sl1:{p0}:b:user:".len() + 22, "{user:?}");
        for key in &keys {
            let rest = key.strip_prefix("sl1:{p0}:").unwrap();
            assert!(rest.bytes().all(|b| b.is_ascii_alphanumeric() || b":-_.".contains(&b)), "{user:?}: {key}");
        }
        assert!(seen.insert(bucket), "{user:?} shares a bucket");
        assert!(seen.insert(keys[0].clone()), "{user:?} shares a claim");
    }
}

#[test]
fn r_ratelimit_js_reset_a_subject_that_can_be_nobody_is_refused() {
    let huge = "u".repeat(10_000);
    for user in ["", "a\nb", "a\0", "\u{7f}", "\u{1b}[2J", &huge] {
        let stage = Stage::default();
        assert_eq!(stage.play(buys(user, "demo")).status, 401, "{:?}", user.get(..10));
        assert!(stage.is_untouched());
    }
}

#[test]
fn r_spring_cloud_gateway_248_all_keys_of_a_call_share_a_slot() {
    let spread = TOML.replace("partitions = 1", "partitions = 64");
    let mut slots = HashSet::new();
    for n in 0..50 {
        let sku = format!("sale-{n}");
        let calls = [
            buys("42", &sku),
            request("POST", &format!("/v1/sales/{sku}/token")),
            request("GET", &format!("/v1/sales/{sku}")),
            request("GET", &format!("/v1/sales/{sku}/orders/mine")),
            request("GET", "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B"),
        ];
        for call in calls {
            let path = call.path.clone();
            let keys = keys(&spread, call);
            let tags: HashSet<_> = keys.iter().map(|key| key.split(['{', '}']).nth(1).unwrap().to_owned()).collect();
            assert_eq!(tags.len(), 1, "{path}: {keys:?}");
            assert!(keys.iter().all(|key| key.matches('{').count() == 1), "{keys:?}");
            slots.extend(tags);
        }
    }
    assert!(slots.len() > 20, "sales are spread: {slots:?}");
}

#[test]
fn r_ratelimit_js_101_every_key_carries_the_layouts_version_and_two_layouts_never_meet() {
    let next = TOML.replace("prefix = \"sl1\"", "prefix = \"sl2\"");
    let (old, new) = (keys(TOML, buys("42", "demo")), keys(&next, buys("42", "demo")));
    assert!(old.iter().all(|key| key.starts_with("sl1:")) && new.iter().all(|key| key.starts_with("sl2:")));
    assert_eq!(old.len(), new.len());
    let op = |keys: &[String]| keys[0].rsplit(':').next().unwrap().to_owned();
    assert_ne!(op(&old), op(&new), "the operation itself is another: an origin's records do not meet either");
}
