//! What the gate does with which request: `gate.toml`, checked whole before anything runs.
//!
//! The same code checks it at build time (`build.rs`) and reads it when an isolate starts.

mod pattern;
mod read;
mod reader;

pub use pattern::{Matched, Pattern};
pub use reader::Fault;

use crate::model::{Millis, Quota};

/// How many partitions there may be.
pub const PARTITIONS: std::ops::RangeInclusive<u16> = 1..=1024;

/// The whole of gate.toml.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Prefix of every Redis key, with the layout's version in it.
    pub prefix: String,
    /// Over how many partitions the sales are spread.
    pub partitions: u16,
    /// Time that a request may spend waiting for Redis, all its calls together.
    pub redis_deadline: Millis,
    /// How long the isolate may repeat what Redis said of a sale or a bucket.
    pub snapshot: Millis,
    /// When Redis is no longer asked.
    pub breaker: Breaker,
    /// Who asks.
    pub identity: Identity,
    /// How long an order token holds.
    pub token_lifetime: Millis,
    /// Claims of operations.
    pub claim: Claim,
    /// What is written of decisions.
    pub log: Log,
    /// All limits; routes name them by position.
    pub limits: Vec<Limit>,
    /// All routes, in the order in which they are tried.
    pub routes: Vec<Route>,
}

/// Where identity comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The platform's header, in lower case; nothing else is believed.
    pub ip_header: String,
    /// What happens when the platform sends none.
    pub ip_missing: IpMissing,
    /// `iss` of user JWTs.
    pub issuer: String,
    /// `aud` of user JWTs.
    pub audience: String,
    /// How far the issuer's clock may be off.
    pub leeway: Millis,
}

/// What happens to a request without a client address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpMissing {
    /// 400 `client_ip_missing`.
    Refuse,
    /// All such requests share the buckets of this limit, in place of the limits keyed by address.
    Shared(usize),
}

/// Times of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// How long one attempt keeps others out.
    pub lease: Millis,
    /// How long an answer is kept for replay.
    pub retention: Millis,
}

/// When Redis is no longer asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row that open it.
    pub failures: u32,
    /// How long it stays open before one call may try.
    pub open: Millis,
}

/// What is written of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// One in so many requests that pass; 0 for none.
    pub passed_one_in: u64,
    /// Refusals written by one isolate; those above are counted.
    pub refusals: Quota,
}

/// One token bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name, in keys and in `RateLimit`.
    pub name: String,
    /// What it is keyed by; nothing: one bucket for all.
    pub key: Vec<KeyPart>,
    /// Burst and rate.
    pub quota: Quota,
}

/// One part of what a bucket is keyed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The verified user.
    User,
    /// The client address.
    Ip,
    /// The sale in the path.
    Sku,
    /// The route.
    Route,
}

/// What one route demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name, in logs and keys.
    pub name: String,
    /// Method, in upper case.
    pub method: String,
    /// Path.
    pub path: Pattern,
    /// What is done with a request that passes.
    pub action: Action,
    /// Whether a user must be known.
    pub user: UserRule,
    /// Whether an order token is demanded.
    pub order_token: bool,
    /// What the body must be.
    pub body: BodyRule,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// Positions in [`Gate::limits`].
    pub limits: Vec<usize>,
    /// What happens when Redis is away.
    pub on_redis_down: OnRedisDown,
    /// What an ambiguous outcome leads to.
    pub on_ambiguous: OnAmbiguous,
    /// How long the origin may take.
    pub origin_deadline: Millis,
}

/// What is done with a request that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Issue an order token; the origin is not asked.
    IssueToken,
    /// Forward it to the origin.
    Forward,
}

/// Whether a user must be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRule {
    /// 401 without a valid JWT.
    Required,
    /// A JWT that is sent must be valid; none is fine.
    Optional,
}

/// What the body must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// Anything.
    Any,
    /// The JSON of an order.
    Order,
}

/// What happens when Redis is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRedisDown {
    /// 503; the origin sees nothing.
    Closed,
    /// It passes without limits.
    Open,
}

/// What an ambiguous outcome leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAmbiguous {
    /// The origin dedupes by op id: the next attempt takes over and is forwarded.
    Retry,
    /// The next attempt is told `outcome_unknown`.
    Hold,
}

/// A route and what its path holds, or the methods of the routes that have that path.
pub type Found<'g> = Result<(&'g Route, Matched), Vec<&'g str>>;

impl Gate {
    /// Reads and checks a whole document.
    ///
    /// # Errors
    /// Every fault that was found, in the order of its lines.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        read::gate(text)
    }

    /// The first route whose path matches and whose method does; a HEAD is served where a GET is.
    ///
    /// # Errors
    /// The methods of the routes that have that path: none for 404, else 405.
    pub fn route(&self, method: &str, path: &str) -> Found<'_> {
        let method = if method == "HEAD" { "GET" } else { method };
        let mut known = Vec::new();
        for route in &self.routes {
            if let Some(matched) = route.path.matches(path) {
                if route.method == method {
                    return Ok((route, matched));
                }
                known.push(route.method.as_str());
            }
        }
        Err(known)
    }
}
