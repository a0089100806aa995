//! The origin against a real redis-server and SQL. Each test starts a Redis of its own, and has a database of its own:
//! an SQLite file, or one on the server that `SLUICE_TEST_SQL` names (`cargo xtask test origin` starts such servers).
#![allow(unreachable_pub, missing_docs, reason = "the crate is a test binary: nothing is exported")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking; the allowances in .clippy.toml reach test functions, not their helpers"
)]

mod admin;
mod board;
mod books;
mod catalog;
mod catalog_trouble;
mod claims;
mod cluster;
mod databases;
mod http;
mod jobs;
mod life;
mod operating;
mod payments;
mod restores;
mod selling;
mod settling;
mod support;
mod tools;
mod trouble;
