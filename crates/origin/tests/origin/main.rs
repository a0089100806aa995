//! The origin against a real redis-server and SQLite: each test starts its own, on ports and data of its own.
#![allow(unreachable_pub, missing_docs, reason = "the crate is a test binary: nothing is exported")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking; the allowances in .clippy.toml reach test functions, not their helpers"
)]

mod claims;
mod http;
mod restores;
mod selling;
mod settling;
mod support;
mod tools;
mod trouble;
