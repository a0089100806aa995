//! Tests against real services: redis-server, the bridge, workerd, the origin, SQL. Each starts its own.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test binary: nobody imports it, and a failed expectation is a failed test"
)]

mod admission;
mod answers;
mod bad_address;
mod bad_body;
mod bad_identity;
mod bad_token;
mod bucket;
mod claim;
mod cluster;
mod decision;
mod degraded;
mod faults;
mod foreign;
mod forwarding;
mod front;
mod headers;
mod http;
mod instants;
mod isolate;
mod issue;
mod keys;
mod lifetimes;
mod live_config;
mod mode;
mod operators;
mod orders;
mod origin_away;
mod race;
mod refusals;
mod replay;
mod rest;
mod rotation;
mod scene;
mod scripts;
mod shedding;
mod shop;
#[path = "../signer.rs"]
mod signer;
mod smoke;
mod stored;
mod streaming;
mod support;
