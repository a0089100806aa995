//! What every answer wears: no cache keeps it, it names its request, and the pages of other sites that may read it can.

use std::fmt::Write as _;

use super::ports::Request;
use super::trace::Trace;
use crate::api::response::Response;
use crate::api::{ATTEMPT, CHALLENGE, IDEMPOTENCY_KEY, ORDER_TOKEN, REPLAYED};
use crate::config::{Cors, Gate};
use crate::digest::Tag;

/// Request headers of the contract that a page may send.
const HEADERS: &[&str] =
    &["authorization", "content-type", ORDER_TOKEN, ATTEMPT, CHALLENGE, IDEMPOTENCY_KEY, "traceparent", "tracestate"];
/// Answer headers of the contract that a page may read.
const EXPOSED: &[&str] = &["ratelimit", "ratelimit-policy", "retry-after", "location", REPLAYED, "x-request-id"];

/// Dresses an answer. Nothing that the origin said about these headers counts.
pub(super) fn dress(config: &Gate, request: &Request, response: &mut Response, id: &Tag, trace: &Trace) {
    let across = &config.cors;
    let ours = |name: &str| {
        matches!(name, "cache-control" | "x-request-id" | "cdn-cache-control" | "surrogate-control")
            || !across.origins.is_empty() && name.starts_with("access-control-")
    };
    response.headers.retain(|(name, _)| !ours(name));
    response.header("cache-control", "private, no-store");
    response.header("x-request-id", id.as_str());
    if config.server_timing {
        timing(response, trace);
    }
    if let Some(origin) = allowed(across, request) {
        response.header("access-control-allow-origin", origin);
        if !across.origins.iter().any(|listed| listed == "*") {
            response.header("vary", "Origin");
        }
        response.header("access-control-expose-headers", list(EXPOSED, &across.exposed));
    }
}

/// The answer to a preflight of a page that may call; `methods` are those of the routes at the path.
pub(super) fn preflight(config: &Gate, request: &Request, methods: &[&str], id: &Tag) -> Option<Response> {
    let asks = request.method == "OPTIONS" && request.header("access-control-request-method").is_some();
    let allowed = asks && !methods.is_empty() && allowed(&config.cors, request).is_some();
    allowed.then(|| {
        let mut response = Response::new(204);
        dress(config, request, &mut response, id, &Trace::default());
        response.header("access-control-allow-methods", methods.join(", "));
        response.header("access-control-allow-headers", list(HEADERS, &config.cors.headers));
        response.header("access-control-max-age", config.cors.max_age_s.to_string());
        response
    })
}

/// The origin to allow, when the request names one that may call. What operators use is for no page.
fn allowed<'a>(cors: &'a Cors, request: &Request) -> Option<&'a str> {
    let origin = request.header("origin")?;
    let listed = cors.origins.iter().find(|listed| *listed == origin || *listed == "*")?;
    (!request.path.starts_with("/__gate")).then_some(listed)
}

fn list(ours: &[&str], more: &[String]) -> String {
    ours.iter().copied().chain(more.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
}

fn timing(response: &mut Response, trace: &Trace) {
    let mut value = String::new();
    for (name, took) in [("redis", trace.redis.get()), ("origin", trace.origin.get())] {
        if let Some(took) = took {
            let separator = if value.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(value, "{separator}{name};dur={took}");
        }
    }
    if !value.is_empty() {
        response.header("server-timing", value);
    }
}
