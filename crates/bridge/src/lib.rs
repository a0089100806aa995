//! The bridge: Upstash-compatible REST in front of a plain Redis.
//!
//! A request is turned into commands ([`request`]), what may not pass over a shared connection is refused
//! ([`refuse`]), what a token may not do too ([`policy`], by what Redis says about its commands: [`catalog`]), scripts
//! lose what a plain Redis does not know ([`script`]), the rest is sent ([`backend`]) as bytes ([`resp`]) and the
//! replies become JSON ([`reply`]). [`execute`] puts these together without knowing HTTP; [`http`] is the only part
//! that does. `docs/bridge.md` says what it answers and what it refuses.

pub mod auth;
pub mod backend;
pub mod catalog;
pub mod config;
pub mod execute;
pub mod http;
pub mod metrics;
pub mod policy;
pub mod refuse;
pub mod reply;
pub mod request;
pub mod resp;
pub mod script;

pub use config::{Config, ConfigError};
pub use http::{Bridge, build};
