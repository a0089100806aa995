//! Headers on their way in: what a client says about itself is not believed, and no byte of it breaks the gate.

use std::collections::HashSet;

use xtask::build::Variant;

use crate::http::{Edge, ONE};
use crate::rest::Rest;
use crate::scene::Scene;

/// The head of an order with more lines, for [`Edge::raw`].
fn raw_order(edge: &Edge, user: &str, more: &[&[u8]]) -> Vec<u8> {
    let lines = [
        format!("authorization: Bearer {}", edge.jwt(user)),
        format!("sluice-order-token: {}", edge.token(user, "demo")),
        "cf-connecting-ip: 203.0.113.1".to_owned(),
        "content-type: application/json".to_owned(),
        format!("content-length: {}", ONE.len()),
    ];
    let head = edge.head("POST /v1/sales/demo/orders", &lines.each_ref().map(String::as_str));
    let mut request = head[..head.len() - 2].to_vec();
    for line in more {
        request.extend_from_slice(line);
        request.extend_from_slice(b"\r\n");
    }
    [&request, b"\r\n".as_slice(), ONE.as_bytes()].concat()
}

#[tokio::test]
async fn r_nuxt_security_83_what_a_client_says_about_itself_never_reaches_the_origin() {
    let scene = Scene::start().await;
    let spoofed = [
        "Sluice-Assertion: spoofed",
        "sluice_assertion: spoofed",
        "SLUICE-OUTCOME: spoofed",
        "Sluice-Attempt: 2",
        "X-Forwarded-For: 198.51.100.9",
        "X_Forwarded_For: 198.51.100.9",
        "X-Forwarded-Host: spoofed",
        "X-User-Id: 1",
        "X_User_Id: 1",
        "X-Real-IP: 198.51.100.9",
        "Forwarded: for=198.51.100.9",
        "X-Request-Id: spoofed",
        "Idempotency-Key: spoofed",
        "Keep-Alive: spoofed",
        "Proxy-Authorization: spoofed",
        "TE: trailers",
        "X-Plain: stays",
        "Cookie: a=1; b=2",
    ];
    let lines: Vec<&[u8]> = spoofed.iter().map(|line| line.as_bytes()).collect();
    let answer = scene.edge.raw(&raw_order(&scene.edge, "42", &lines)).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let seen = scene.origin.only();
    assert_eq!(seen.header("x-plain"), Some("stays"));
    assert_eq!(seen.header("cookie"), Some("a=1; b=2"));
    for (name, value) in &seen.headers {
        let value = value.to_str().unwrap();
        assert!(!value.contains("spoofed") && !value.contains("198.51.100.9"), "{name}: {value}");
        assert!(!name.as_str().starts_with("x-user") && !name.as_str().contains('_'), "{name}: {value}");
    }
    for name in ["sluice-order-token", "sluice-attempt", "x-forwarded-for", "forwarded", "x-real-ip", "te"] {
        assert_eq!(seen.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn r_express_rate_limit_cve_2026_30827_all_spellings_of_an_address_share_a_bucket() {
    let (scene, rest) = Rest::before(Variant::Fetch).await;
    let same = [
        vec!["1.2.3.4", "::ffff:1.2.3.4", "::FFFF:102:304"],
        // r_truxify_pr12187, and grouped by /64
        vec!["2001:db8::a:b", "2001:0db8:0:0:0:0:A:B", "2001:db8::1"],
        // r_buzz_pr3784
        vec!["fe80::1%eth0", "fe80::2"],
        // What is no address is none.
        vec!["unknown", "1.2.3.4, 5.6.7.8", "1.2.3.4:80", ""],
        vec!["2001:db8:0:1::1"],
    ];
    let mut all = HashSet::new();
    for spellings in &same {
        let before = rest.calls.seen().len();
        for ip in spellings {
            scene.edge.get("/v1/sales/demo/details").ip(ip).send().await.is(202);
        }
        let keys = rest.commands().into_iter().skip(before).map(|(_, keys)| keys.join(" ")).collect::<HashSet<_>>();
        assert_eq!(keys.len(), 1, "{spellings:?}: {keys:?}");
        all.extend(keys);
    }
    assert_eq!(all.len(), same.len(), "{all:?}");
}

#[tokio::test]
async fn r_pwa_kit_1739_odd_bytes_in_a_header_are_never_a_500() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    let unreadable: [&[u8]; 3] =
        [b"authorization: Bearer \xe9.\xe9.\xe9", b"sluice-order-token: \xff", b"cf-connecting-ip: \xe9"];
    for line in unreadable {
        let request =
            [b"POST /v1/sales/demo/token HTTP/1.1\r\nhost: e\r\nconnection: close\r\n", line, b"\r\n\r\n"].concat();
        let answer = edge.raw(&request).await;
        assert_eq!(answer.status, 401, "{}: {}", String::from_utf8_lossy(line), answer.text());
    }
    scene.is_untouched("unreadable");
    let odd: [&[u8]; 6] = [
        b"x-name: Andr\xe9",
        b"x-name: \xff\xfe",
        "x-name: 昵称 🙂".as_bytes(),
        b"accept-language: \xe9\xe9",
        b"cookie: a=\xa0\x85",
        b"user-agent: caf\xc3",
    ];
    for (i, line) in odd.iter().enumerate() {
        let about = String::from_utf8_lossy(line);
        let answer = edge.raw(&raw_order(edge, &format!("odd{i}"), &[*line])).await;
        assert_eq!(answer.status, 202, "{about}: {}", answer.text());
    }
    assert_eq!(scene.origin.seen().len(), odd.len());
}

#[tokio::test]
async fn a_header_in_utf_8_reaches_the_origin_as_it_came() {
    let scene = Scene::start().await;
    let name = "é昵🙂".as_bytes();
    let answer = scene.edge.raw(&raw_order(&scene.edge, "42", &[&[b"x-name: ", name].concat()])).await;
    assert_eq!(answer.status, 202);
    // What is no UTF-8 arrives with U+FFFD in its place: so the platform reads it.
    assert_eq!(scene.origin.only().headers["x-name"].as_bytes(), name);
}

#[tokio::test]
async fn r_granit_dotnet_pr1151_a_strange_idempotency_key_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    let long = "k".repeat(256);
    for key in ["", "a b", "\"\"", "\"a b\"", &long] {
        let call = edge.order("42", "demo", &edge.token("42", "demo")).header("idempotency-key", key);
        call.send().await.is_refused(400, "invalid_idempotency_key", key);
    }
    let answer = edge.raw(&raw_order(edge, "42", &[b"idempotency-key: \xe9"])).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    scene.is_untouched("keys");
}

#[tokio::test]
async fn r_gravitino_pr12470_a_quoted_key_is_the_bare_key_and_any_other_key_is_a_mismatch() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    let token = edge.token("42", "demo");
    let order = |key: &str| edge.order("42", "demo", &token).header("idempotency-key", key).settled();
    let first = order("k").await;
    first.is(202);
    let op = scene.origin.only().header("idempotency-key").unwrap().to_owned();
    assert_ne!(op, "k", "the origin knows the operation by its op id");
    let again = order("\"k\"").await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (202, Some("true")));
    order("K").await.is_refused(422, "idempotency_mismatch", "another key");
    let bare = edge.order("42", "demo", &token).send().await;
    bare.is_refused(422, "idempotency_mismatch", "no key");
    assert!(scene.origin.seen().is_empty());
}
