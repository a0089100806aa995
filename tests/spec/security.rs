//! What nobody can bend: where a request goes, who it is from, which key vouches for what, and who may keep an answer.

use sluice::assertion::{Assertion, Assertions};
use sluice::gate::ports::Request;
use sluice::identity::jwt::{Checks, UserClaims};
use sluice::identity::keyring::{JwtFault, Verifying};
use sluice::model::{Algorithm, Millis, Sku, User};
use sluice::token::{OrderTokens, TokenFault};

use crate::stage::{ASSERTIONS, NOW, Stage, TOKENS, USERS, code, order, request, user_jwt, with};

const ADMITTED: &str = "[0,1800000000000,\"\",\"\",500000,100000]";
const READ: &str = "[0,1800000000000,\"\",\"\",100000]";
/// A gate that lets every path of three segments pass to the origin.
const WIDE: &str = "[identity]\nissuer = \"https://shop.example\"\naudience = \"sluice\"\nip_missing = \"shared\"\n\
     ip_missing_limit = \"l\"\n[[limit]]\nname = \"l\"\nkey = []\nburst = 40\nrate = \"20/s\"\n\
     [[route]]\nname = \"r\"\nmethod = \"GET\"\npath = \"/v1/{a}/{b}\"\nuser = \"optional\"\nlimits = [\"l\"]\n";

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

#[test]
fn no_path_leads_anywhere_but_to_the_path_that_was_judged() {
    let paths = [
        "//evil.example",
        "//evil.example/v1/a",
        "/v1//evil.example",
        "/v1/a/b@evil.example",
        "/v1/http:/evil.example",
        "/v1/http:%2f%2fevil.example/b",
        "/v1/a/..",
        "/v1/a/%2e%2e",
        "/v1/a/.%2E",
        "/v1/a/b%5c..%5cadmin",
        "/v1/a\\b/c",
        "http://evil.example/v1/a",
        "@evil.example",
        "evil.example",
        "",
        "/v1/a/b\r\nhost: evil.example",
        "/v1/a/b%0d%0ahost:evil",
        "/v1/a/%00",
        "/v1/a/b;admin",
        "/v1/a/b:8080",
    ];
    for path in paths {
        let stage = Stage::default().redis(READ).origin(200, &[], "");
        let answer = stage.play_with(WIDE, request("GET", path));
        let forwarded = stage.forwarded.borrow();
        match forwarded.first() {
            Some(sent) => {
                assert_eq!((answer.status, sent.target.as_str()), (200, path), "byte for byte");
                assert!(path.starts_with("/v1/") && !path.starts_with("//") && !path.contains(".."), "{path}");
            }
            None => assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}"),
        }
        assert_eq!(answer.get("location"), None, "{path}");
    }
}

#[test]
fn no_header_chooses_the_origin_the_path_or_the_method() {
    let names = [
        "host",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-prefix",
        "x_forwarded_host",
        "forwarded",
        "x-original-url",
        "x-rewrite-url",
        "x-http-method-override",
        "x-method-override",
        "location",
        "referer",
        "origin",
    ];
    for name in names {
        let stage = Stage::default().redis(READ).origin(200, &[], "");
        let answer = stage.play_with(WIDE, with(request("GET", "/v1/a/b"), name, "https://evil.example/admin"));
        assert_eq!(answer.status, 200, "{name}");
        let sent = stage.forwarded.borrow()[0].clone();
        assert_eq!((sent.method.as_str(), sent.target.as_str()), ("GET", "/v1/a/b"), "{name}");
        assert_eq!(header(&sent.headers, "host"), None, "the adapter's to set");
        let vouched = header(&sent.headers, "sluice-assertion").unwrap();
        let vouched = Assertions::new(ASSERTIONS).unwrap().verify(vouched, Millis(NOW)).unwrap();
        assert_eq!((vouched.mtd.as_str(), vouched.pth.as_str()), ("GET", "/v1/a/b"), "{name}");
    }
}

#[test]
fn the_gate_itself_sends_nobody_elsewhere() {
    let asked = ["https://evil.example", "//evil.example", "/\\evil.example", "evil.example"];
    for to in asked {
        let mut request = with(with(request("GET", "/nowhere"), "host", to), "referer", to);
        request.query = format!("next={to}&url={to}&redirect={to}&return={to}");
        let answer = Stage::default().play(request);
        assert_eq!((answer.status, answer.get("location"), answer.get("refresh")), (404, None, None));
        assert!(!String::from_utf8_lossy(&answer.body).contains("evil"), "{answer:?}");
    }
}

#[test]
fn what_speaks_for_the_gate_is_stripped_in_every_spelling_on_both_ways() {
    let mut spoofed = order();
    let names = [
        "sluice-assertion",
        "sluice_assertion",
        "sluice-outcome",
        "sluice-completed",
        "sluice_completed",
        "sluice-sold-out",
        "sluice-attempt",
        "sluice-anything-new",
        "sluice-",
    ];
    for name in names {
        spoofed.headers.push((name.to_owned(), "spoofed".to_owned()));
        spoofed.headers.push((name.to_owned(), "spoofed twice".to_owned()));
    }
    let answered = [
        ("sluice-completed", "1"),
        ("sluice-outcome", "final"),
        ("sluice-sold-out", "x"),
        ("sluice-assertion", "of the origin"),
        ("sluice-anything-new", "1"),
    ];
    let stage = Stage::default().redis(ADMITTED).origin(202, &answered, "{}");
    let answer = stage.play(spoofed);
    assert_eq!(answer.status, 202);
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("sluice")), "{answer:?}");
    let sent = stage.forwarded.borrow()[0].clone();
    let ours: Vec<_> = sent.headers.iter().filter(|(name, _)| name.starts_with("sluice")).collect();
    assert!(ours.len() == 1 && ours[0].0 == "sluice-assertion", "{ours:?}");
    assert!(sent.headers.iter().all(|(_, value)| !value.contains("spoofed")), "{:?}", sent.headers);
}

/// The same secret for everything: what is told apart then is told apart by purpose alone.
const SAME: &str = "one-secret-for-everything-00000000000";

#[test]
fn each_purpose_has_its_own_key() {
    let tokens = OrderTokens::new(USERS).unwrap();
    let token = tokens.issue([1; 16], &User::parse("42").unwrap(), &Sku::parse("demo").unwrap(), Millis(u64::MAX));
    let claims = |secret| {
        let claims = UserClaims {
            iss: "https://shop.example".into(),
            aud: "sluice".into(),
            sub: "42".into(),
            exp: NOW / 1000 + 60,
        };
        sluice::identity::jwt::sign(secret, &claims).unwrap()
    };
    let cases: [(Request, u16, &str); 3] = [
        (with(order(), "sluice-order-token", &token), 403, "token_invalid"),
        (with(order(), "authorization", &format!("Bearer {}", claims(TOKENS))), 401, "identity_invalid"),
        (with(order(), "authorization", &format!("Bearer {}", claims(ASSERTIONS))), 401, "identity_invalid"),
    ];
    for (request, status, expected) in cases {
        let stage = Stage::default();
        let refused = stage.play(request);
        assert_eq!((refused.status, code(&refused).as_str()), (status, expected));
        assert!(stage.is_untouched());
    }
    let assertions = Assertions::new(USERS).unwrap();
    let stage = Stage::default().redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "{}");
    stage.play(order());
    let sent = stage.forwarded.borrow()[0].clone();
    let vouched = header(&sent.headers, "sluice-assertion").unwrap();
    assert_eq!(assertions.verify(vouched, Millis(NOW)), Err(JwtFault::Invalid));
}

#[test]
fn even_one_secret_for_everything_keeps_the_purposes_apart() {
    let vouched = Assertion {
        sub: Some("42".into()),
        ip: None,
        sku: None,
        mtd: "POST".into(),
        pth: "/".into(),
        bdy: String::new(),
        op: None,
    };
    let (assertions, tokens) = (Assertions::new(SAME).unwrap(), OrderTokens::new(SAME).unwrap());
    let (user, sku) = (User::parse("42").unwrap(), Sku::parse("demo").unwrap());
    let assertion = assertions.sign(vouched, Millis(NOW));
    let token = tokens.issue([1; 16], &user, &sku, Millis(NOW + 60_000));
    // Also where an operator gave users the assertion's issuer and audience.
    for (iss, aud) in [("https://shop.example", "sluice"), ("sluice-edge", "sluice-origin")] {
        let claims = UserClaims { iss: iss.into(), aud: aud.into(), sub: "42".into(), exp: NOW / 1000 + 60 };
        let jwt = sluice::identity::jwt::sign(SAME, &claims).unwrap();
        assert_eq!(assertions.verify(&jwt, Millis(NOW)), Err(JwtFault::Invalid), "{iss}");
        assert_eq!(tokens.verify(&jwt, &user, &sku, None), Err(TokenFault::Invalid), "{iss}");
    }
    let (users, secrets) =
        (Checks::new(Algorithm::Hs256, "https://shop.example", "sluice", Millis(0)), Verifying::new(SAME).unwrap());
    for other in [&assertion, &token] {
        assert_eq!(users.by_secret(&secrets, other, Millis(NOW)), Err(JwtFault::Invalid));
    }
    assert_eq!(assertions.verify(&token, Millis(NOW)), Err(JwtFault::Invalid));
    assert_eq!(tokens.verify(&assertion, &user, &sku, None), Err(TokenFault::Invalid));
}

#[test]
fn no_answer_may_be_kept_by_anybody_on_the_way() {
    let cacheable = [
        ("cache-control", "public, max-age=600"),
        ("cdn-cache-control", "max-age=600"),
        ("cloudflare-cdn-cache-control", "max-age=600"),
        ("surrogate-control", "max-age=600"),
        ("x-accel-expires", "600"),
        ("etag", "\"e\""),
        ("x-plain", "stays"),
    ];
    let marked: Vec<_> =
        [("sluice-outcome", "final"), ("sluice-completed", "1")].into_iter().chain(cacheable).collect();
    let from_origin = Stage::default().redis(ADMITTED).origin(202, &marked, "{}");
    let first = from_origin.play(order());
    let repeated = from_origin.play(order());
    assert_eq!(repeated.get("idempotency-replayed"), Some("true"));
    let kept = Stage::default().redis("[3,1800000000000,\"202\\ncache-control: public\\n\\nt{}\"]");
    let answers = [
        ("accepted", first.clone()),
        ("repeated from memory", repeated),
        ("repeated from Redis", kept.play(order())),
        ("read", Stage::default().redis(READ).origin(200, &cacheable, "{}").play(request("GET", "/v1/orders/1"))),
        ("not modified", Stage::default().redis(READ).origin(304, &cacheable, "").play(request("GET", "/v1/orders/1"))),
        ("moved", Stage::default().redis(READ).origin(301, &cacheable, "").play(request("GET", "/v1/orders/1"))),
        ("token", Stage::default().redis(ADMITTED).play(request("POST", "/v1/sales/demo/token"))),
        ("refused", Stage::default().redis("[1,1800000000000,\"\",2500000,0]").play(order())),
        ("degraded", Stage::default().redis_says(503, "").play(order())),
        ("no route", Stage::default().play(request("GET", "/nowhere"))),
        ("bad path", Stage::default().play(request("GET", "/%00"))),
        ("health", Stage::default().play(request("GET", "/healthz"))),
    ];
    assert_eq!(first.get("x-plain"), Some("stays"));
    for (what, answer) in answers {
        let told: Vec<_> = answer.headers.iter().filter(|(name, _)| name.contains("cache-control")).collect();
        assert!(told.len() == 1 && told[0].1 == "private, no-store", "{what}: {told:?}");
        for name in ["surrogate-control", "x-accel-expires"] {
            assert_eq!(answer.get(name), None, "{what}");
        }
    }
}

#[test]
fn nothing_that_a_client_sent_comes_back_in_a_refusal() {
    for path in ["/v1/sales/<script>/orders", "/<script>alert(1)", "/v1/sales/%3Cscript%3E"] {
        let mut asked = with(request("POST", path), "user-agent", "<script>");
        asked.query = "q=<script>".into();
        let answer = Stage::default().play(asked);
        assert!(answer.status >= 400, "{answer:?}");
        assert!(!String::from_utf8_lossy(&answer.body).contains("script"), "{answer:?}");
        assert_eq!(answer.get("content-type"), Some("application/problem+json"));
    }
    let jwt = user_jwt("42");
    let answer = Stage::default().play(with(order(), "authorization", &format!("Bearer {jwt}x")));
    assert!(!String::from_utf8_lossy(&answer.body).contains(&jwt[..20]), "{answer:?}");
}
