//! What the gate does with which request: `gate.toml`, checked whole before anything runs.
//!
//! The same code checks it at build time (`build.rs`) and reads it when an isolate starts.

mod identity;
mod limit;
mod pattern;
mod read;
mod reader;
mod route;
mod settings;
mod words;

pub use identity::{Identity, IpMissing};
pub use limit::{KeyPart, Limit};
pub use pattern::{Matched, Pattern};
pub use reader::Fault;
pub use route::{Action, BodyRule, OnAmbiguous, OnRedisDown, Route, UserRule};
pub use settings::{Breaker, Claim, Log};

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
