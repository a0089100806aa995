//! What must hold, without any service: the whole life of a request over stand-ins for Redis, origin and clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking; the allowances in .clippy.toml reach test functions, not their helpers"
)]

mod admin;
mod bounds;
mod counters;
mod decision;
mod flood;
mod front;
mod hang;
mod in_flight;
mod issue;
mod jws;
mod keys;
mod keyspace;
mod layout;
mod life;
mod limits;
mod lists;
mod live;
mod memory;
mod nobody;
mod operation;
mod outage;
mod revocation;
mod security;
mod showing;
#[path = "../signer.rs"]
mod signer;
mod stage;
mod stored;
mod streaming;
mod told;
mod warm;
