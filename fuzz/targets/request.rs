//! Any request, with any answers of Redis and the origin: always one answer, and nothing gets past what it must not.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sluice::api::response::Response;
use sluice::gate::ports::{Body, Request};
use sluice::model::{Millis, Sku, User};
use sluice::token::OrderTokens;
use sluice_fuzz::{NOW, Stage, TOKENS, user_jwt};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    method: Method<'a>,
    path: Path<'a>,
    query: &'a str,
    user: bool,
    token: bool,
    headers: Vec<(Name<'a>, &'a str)>,
    body: Option<&'a [u8]>,
    redis: Vec<(u16, Reply<'a>)>,
    origin: Vec<(u16, Vec<(Name<'a>, &'a str)>, &'a [u8])>,
}

#[derive(Debug, Arbitrary)]
enum Method<'a> {
    Get,
    Post,
    Any(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Path<'a> {
    Order,
    Token,
    Sale,
    Mine,
    Status(&'a str),
    Any(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Name<'a> {
    Authorization,
    Ip,
    Token,
    Key,
    Attempt,
    ContentType,
    Connection,
    Outcome,
    Completed,
    SoldOut,
    Location,
    Any(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Reply<'a> {
    /// A reply of admit.lua: status, numbers, texts.
    Array(u8, Vec<Item<'a>>),
    Raw(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Item<'a> {
    Int(i64),
    Text(&'a str),
}

fn name<'a>(name: &Name<'a>) -> String {
    let text = match name {
        Name::Authorization => "authorization",
        Name::Ip => "cf-connecting-ip",
        Name::Token => "sluice-order-token",
        Name::Key => "idempotency-key",
        Name::Attempt => "sluice-attempt",
        Name::ContentType => "content-type",
        Name::Connection => "connection",
        Name::Outcome => "sluice-outcome",
        Name::Completed => "sluice-completed",
        Name::SoldOut => "sluice-sold-out",
        Name::Location => "location",
        Name::Any(text) => text,
    };
    // The platform gives header names in lower case, and its own values hold no line ends.
    text.chars().filter(|c| c.is_ascii_graphic()).collect::<String>().to_ascii_lowercase()
}

fn value(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\n' | '\r' | '\0')).collect()
}

fn reply(reply: &Reply<'_>) -> String {
    match reply {
        Reply::Raw(text) => (*text).to_owned(),
        Reply::Array(status, items) => {
            let mut list = vec![serde_json::json!(status % 12)];
            list.extend(items.iter().map(|item| match item {
                Item::Int(n) => serde_json::json!(n),
                Item::Text(text) => serde_json::json!(text),
            }));
            serde_json::json!({ "result": list }).to_string()
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    let stage = Stage::default();
    for (status, body) in &input.redis {
        stage.redis(if status % 4 == 0 { *status } else { 200 }, reply(body));
    }
    for (status, headers, body) in &input.origin {
        let mut response = Response::new(200 + status % 400);
        for (n, v) in headers {
            response.header(name(n), value(v));
        }
        response.body = body.to_vec();
        stage.origin(response);
    }
    let mut request = Request {
        method: match input.method {
            Method::Get => "GET".into(),
            Method::Post => "POST".into(),
            Method::Any(text) => text.to_ascii_uppercase(),
        },
        path: match input.path {
            Path::Order => "/v1/sales/demo/orders".into(),
            Path::Token => "/v1/sales/demo/token".into(),
            Path::Sale => "/v1/sales/demo".into(),
            Path::Mine => "/v1/sales/demo/orders/mine".into(),
            Path::Status(id) => format!("/v1/orders/{}", value(id)),
            Path::Any(text) => format!("/{}", value(text)),
        },
        query: value(input.query),
        headers: input.headers.iter().map(|(n, v)| (name(n), value(v))).collect(),
        body: input.body.map_or(Body::TooLarge, |bytes| Body::Whole(bytes.to_vec())),
    };
    if input.user {
        request.headers.push(("authorization".into(), format!("Bearer {}", user_jwt())));
    }
    if input.token {
        let tokens = OrderTokens::new(TOKENS).unwrap();
        let (user, sku) = (User::parse("42").unwrap(), Sku::parse("demo").unwrap());
        request.headers.push(("sluice-order-token".into(), tokens.issue([7; 16], &user, &sku, Millis(NOW + 600_000))));
    }
    let response = stage.play(request);

    assert!((200..=599).contains(&response.status), "{response:?}");
    for (name, value) in &response.headers {
        assert!(!name.contains(['\n', '\r']) && !value.contains(['\n', '\r']), "{response:?}");
        assert!(!name.starts_with("sluice-"), "{response:?}");
    }
    assert_eq!(response.headers.iter().filter(|(name, _)| name == "cache-control").count(), 1);
    for forwarded in stage.0.forwarded.borrow().iter() {
        let ours = ["sluice-assertion", "sluice-request-id"];
        for (name, value) in &forwarded.headers {
            assert!(!name.contains(['\n', '\r']) && !value.contains(['\n', '\r']), "{forwarded:?}");
            assert!(!name.starts_with("sluice-") || ours.contains(&name.as_str()), "{forwarded:?}");
            assert!(!["connection", "x-forwarded-for"].contains(&name.as_str()), "{forwarded:?}");
        }
        assert!(forwarded.method == "GET" || forwarded.method == "HEAD" || stage.0.asked.get() > 0, "unasked");
    }
    for line in stage.0.logged.borrow().iter() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
});
