//! The bridge against a real redis-server: each test starts both, on ports and data of its own.
#![allow(unreachable_pub, reason = "the crate is a test binary: nothing is exported")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking; the allowances in .clippy.toml reach test functions, not their helpers"
)]

mod answers;
mod cluster;
mod events;
mod formats;
mod fuzz;
mod gateway;
mod limits;
mod outage;
mod paths;
mod program;
mod rights;
mod scripts;
mod servers;
mod support;
mod transactions;
