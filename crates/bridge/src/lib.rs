//! The bridge: Upstash-compatible REST in front of a plain Redis.
//!
//! A request is turned into commands ([`request`]), what may not pass over a shared connection is refused
//! ([`refuse`]), scripts lose what a plain Redis does not know ([`script`]), the rest is sent ([`backend`]) and
//! the replies become JSON ([`reply`]). [`execute`] puts these together without knowing HTTP; [`http`] is the
//! only part that does. `docs/bridge.md` says what it answers and what it refuses.

pub mod auth;
pub mod backend;
pub mod config;
pub mod execute;
pub mod http;
pub mod refuse;
pub mod reply;
pub mod request;
pub mod script;
pub mod wire;

pub use config::{Config, ConfigError};
pub use http::{Bridge, build};
