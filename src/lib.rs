//! Sluice, an edge gateway for flash sales: decides in one round trip to Redis who may pass to the origin.
//!
//! `model` <- `admit` <- `script`, `api` <- `gate` <- `edge`. Only `edge` knows JavaScript; the rest is native too,
//! and the origin uses it for the words and scripts that both sides must agree on.

pub mod admit;
pub mod api;
pub mod assertion;
pub mod config;
pub mod digest;
#[cfg(target_arch = "wasm32")]
pub mod edge;
pub mod gate;
pub mod identity;
pub mod model;
pub mod script;
pub mod shed;
pub mod token;
