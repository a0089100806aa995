//! What stands in front of routes and around answers: pages of other sites, headers that cross, and what is told of times.

use sluice::api::response::Response;
use sluice::gate::ports::Request;

use crate::stage::{Stage, code, order, request, with};

const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";
/// The origin finished the claim itself.
const DONE: &[(&str, &str)] = &[("sluice-completed", "1")];
const SHOP: &str = "https://shop.example";

fn toml(more: &str) -> String {
    include_str!("../../gate.toml").replacen("[[limit]]", &format!("{more}\n[[limit]]"), 1)
}

fn cors(origins: &str) -> String {
    toml(&format!("[cors]\norigins = {origins}\nmax_age_s = 60\nheaders = \"x-app\"\nexposed = \"etag\"\n"))
}

fn preflight(path: &str, origin: &str) -> Request {
    let mut request = Request { method: "OPTIONS".into(), path: path.into(), ..Request::default() };
    for (name, value) in [("origin", origin), ("access-control-request-method", "POST")] {
        request.headers.push((name.into(), value.into()));
    }
    request
}

fn allowed(response: &Response) -> Option<&str> {
    response.get("access-control-allow-origin")
}

#[test]
fn a_preflight_is_answered_from_the_configuration_alone() {
    let stage = Stage::default();
    let answer = stage.play_with(&cors(&format!("\"{SHOP}\"")), preflight("/v1/sales/demo/orders", SHOP));
    assert_eq!((answer.status, allowed(&answer), answer.body.len()), (204, Some(SHOP), 0));
    assert_eq!(answer.get("access-control-allow-methods"), Some("POST"));
    assert_eq!((answer.get("access-control-max-age"), answer.get("vary")), (Some("60"), Some("Origin")));
    let headers = answer.get("access-control-allow-headers").unwrap();
    for name in ["authorization", "content-type", "sluice-order-token", "sluice-attempt", "idempotency-key", "x-app"] {
        assert!(headers.split(", ").any(|listed| listed == name), "{name}: {headers}");
    }
    assert!(stage.is_untouched());
}

#[test]
fn a_page_that_is_not_listed_is_told_nothing() {
    let toml = cors(&format!("\"{SHOP}\""));
    for origin in ["https://evil.example", "https://shop.example.evil", "http://shop.example", "null", ""] {
        let stage = Stage::default();
        let answer = stage.play_with(&toml, preflight("/v1/sales/demo/orders", origin));
        assert_eq!((answer.status, allowed(&answer)), (405, None), "{origin}");
    }
    let answer = Stage::default().play_with(&toml, preflight("/nowhere", SHOP));
    assert_eq!(answer.status, 404);
    let without = Stage::default().play(preflight("/v1/sales/demo/orders", SHOP));
    assert_eq!((without.status, allowed(&without)), (405, None), "nobody is listed where nothing is configured");
}

#[test]
fn operators_paths_are_for_no_page() {
    for method in ["OPTIONS", "GET"] {
        let mut asked = preflight("/__gate/config", SHOP);
        asked.method = method.into();
        let answer = Stage::default().play_with(&cors("\"*\""), asked);
        assert!(allowed(&answer).is_none() && answer.status >= 400, "{method}: {answer:?}");
    }
}

#[test]
fn refusals_and_answers_can_be_read_by_the_page() {
    let toml = cors(&format!("[\"https://other.example\", \"{SHOP}\"]"));
    let stage = Stage::default().redis("[1,1800000000000,\"\",2500000,0]");
    let refused = stage.play_with(&toml, with(order(), "origin", SHOP));
    assert_eq!((code(&refused).as_str(), allowed(&refused)), ("too_many_requests", Some(SHOP)));
    let exposed = refused.get("access-control-expose-headers").unwrap();
    for name in
        ["ratelimit", "ratelimit-policy", "retry-after", "location", "idempotency-replayed", "x-request-id", "etag"]
    {
        assert!(exposed.split(", ").any(|listed| listed == name), "{name}: {exposed}");
    }
    let origins = [DONE[0], ("access-control-allow-origin", "*"), ("access-control-allow-credentials", "true")];
    let stage = Stage::default().redis(ADMITTED).origin(200, &origins, "");
    let answer = stage.play_with(&cors("\"*\""), with(order(), "origin", SHOP));
    let said: Vec<_> = answer.headers.iter().filter(|(name, _)| name.starts_with("access-control-allow")).collect();
    assert_eq!(said.len(), 1, "what the origin says of it does not count: {said:?}");
    assert_eq!((allowed(&answer), answer.get("vary")), (Some("*"), None));
}

#[test]
fn times_are_told_when_configured_and_only_of_what_was_asked() {
    let on = toml("[answers]\nserver_timing = \"on\"\n");
    let stage = Stage::default().redis(ADMITTED).origin(202, &[DONE[0], ("server-timing", "db;dur=1")], "");
    let answer = stage.play_with(&on, order());
    let told: Vec<_> = answer.headers.iter().filter(|(n, _)| n == "server-timing").map(|(_, v)| v.as_str()).collect();
    assert_eq!(told, ["db;dur=1", "redis;dur=0, origin;dur=0"]);
    let refused = Stage::default().redis("[5,1800000000000]").play_with(&on, order());
    assert_eq!(refused.get("server-timing"), Some("redis;dur=0"));
    assert_eq!(Stage::default().play_with(&on, request("GET", "/nowhere")).get("server-timing"), None);
    let off = Stage::default().redis(ADMITTED).origin(202, DONE, "").play(order());
    assert_eq!(off.get("server-timing"), None);
}

#[test]
fn r_nuxt_security_83_nothing_by_which_a_client_could_speak_for_the_gate_is_forwarded() {
    let mut sent = order();
    let spoofed = [
        "x_forwarded_for",
        "sluice_assertion",
        "x_user_id",
        "true-client-ip",
        "x-original-url",
        "x-http-method-override",
        "x_request_id",
        "connection",
        "x-hop",
        "x_hop",
        "proxy-authorization",
        "transfer_encoding",
    ];
    sent.headers.extend(spoofed.map(|name| (name.to_owned(), "X-Hop".to_owned())));
    let stage =
        Stage::default().redis(ADMITTED).origin(202, &[DONE[0], ("sluice_outcome", "final"), ("x-kept", "y")], "");
    let answer = stage.play(sent);
    assert!(answer.get("sluice_outcome").is_none() && answer.get("x-kept").is_some(), "{answer:?}");
    let forwarded = stage.forwarded.borrow()[0].clone();
    for (name, value) in &forwarded.headers {
        assert!(value != "X-Hop", "{name}");
    }
}

#[test]
fn a_trace_is_passed_on_or_begun() {
    let trace = |sent: Request| {
        let stage = Stage::default().redis(ADMITTED).origin(202, DONE, "");
        stage.play(sent);
        let forwarded = stage.forwarded.borrow()[0].clone();
        let all = forwarded.headers.into_iter().filter(|(name, _)| name == "traceparent").map(|(_, value)| value);
        all.collect::<Vec<_>>()
    };
    let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert_eq!(trace(with(order(), "traceparent", valid)), [valid]);
    for sent in [order(), with(order(), "traceparent", "nonsense")] {
        let made = trace(sent);
        assert!(made.len() == 1 && made[0].len() == 55 && made[0].ends_with("-00"), "{made:?}");
    }
}

#[test]
fn no_answer_may_be_kept_by_a_cache_whatever_the_origin_says() {
    let says = [
        DONE[0],
        ("cache-control", "public, max-age=600"),
        ("cdn-cache-control", "max-age=60"),
        ("surrogate-control", "x"),
    ];
    let stage = Stage::default().redis(ADMITTED).origin(200, &says, "");
    let answer = stage.play(order());
    let kept: Vec<_> = answer.headers.iter().filter(|(name, _)| name.ends_with("-control")).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(answer.get("cache-control"), Some("private, no-store"));
}
