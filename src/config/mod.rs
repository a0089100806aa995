//! What the gate does with which request: `gate.toml`, checked whole before anything runs.
//!
//! The same code checks it at build time (`build.rs`) and reads it when an isolate starts. People write TOML, and are
//! told their mistakes by line; what runs at the edge is the same document as JSON.

mod front;
mod identity;
mod limit;
mod lists;
mod live;
mod pattern;
mod read;
mod reader;
mod route;
mod settings;
mod token;
#[cfg(not(target_arch = "wasm32"))]
mod toml_text;
mod tree;
mod words;

pub use front::Cors;
pub use identity::{Identity, IpMissing, Jwks};
pub use limit::{CostRule, KeyPart, Limit};
pub use lists::{List, Lists};
pub use pattern::{Matched, Pattern};
pub use reader::{Fault, Place};
pub use route::{Action, BodyRule, DERIVED_LEASE, Idempotency, OnAmbiguous, OnRedisDown, Route, UserRule};
pub use settings::{Breaker, Claim, Log};
pub use token::{Challenge, Issue};

use crate::model::Millis;

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
    /// Who is kept out, and who is exempt from limits.
    pub lists: Lists,
    /// How often an isolate looks for a replacement of this document, where there is a place for one.
    pub live_refresh: Millis,
    /// How long an order token holds.
    pub token_lifetime: Millis,
    /// When and to whom order tokens are issued.
    pub issue: Issue,
    /// Whether order tokens are stored in Redis, besides being signed.
    pub stored_tokens: bool,
    /// Claims of operations.
    pub claim: Claim,
    /// What is written of decisions.
    pub log: Log,
    /// How many requests one isolate may have on their way to the origin; 0 for any number.
    pub in_flight: usize,
    /// Which other sites' pages may call.
    pub cors: Cors,
    /// Over how long the platform's own limit counts; what it refuses may come again after that.
    pub flood_period: Millis,
    /// Up to so many units are few, to those who only look.
    pub few: u64,
    /// Whether answers tell how long Redis and the origin took.
    pub server_timing: bool,
    /// All limits; routes name them by position.
    pub limits: Vec<Limit>,
    /// All routes, in the order in which they are tried.
    pub routes: Vec<Route>,
}

/// A route and what its path holds, or the methods of the routes that have that path.
pub type Found<'g> = Result<(&'g Route, Matched), Vec<&'g str>>;

impl Gate {
    /// Reads and checks a gate.toml.
    ///
    /// # Errors
    /// Every fault that was found, in the order of its lines.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        read::gate(&toml_text::tree(text)?)
    }

    /// A checked gate.toml as the JSON that the edge reads.
    ///
    /// # Errors
    /// Every fault that was found, in the order of its lines.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn to_json(text: &str) -> Result<String, Vec<Fault>> {
        let tree = toml_text::tree(text)?;
        read::gate(&tree)?;
        // Texts, numbers, lists and tables always serialise.
        Ok(serde_json::to_string(&tree).unwrap_or_default())
    }

    /// Reads and checks a document that came as JSON.
    ///
    /// # Errors
    /// Every fault that was found, each with its path.
    pub fn from_json(text: &str) -> Result<Self, Vec<Fault>> {
        let tree = serde_json::from_str(text).map_err(|fault| {
            let message = format!("this is no JSON document: line {}, column {}", fault.line(), fault.column());
            vec![Fault { place: Place::default(), message }]
        })?;
        read::gate(&tree)
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
