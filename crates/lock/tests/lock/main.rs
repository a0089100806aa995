//! Locks against real redis-servers: each test starts its own, on ports of its own.
#![allow(unreachable_pub, reason = "the crate is a test binary: nothing is exported")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking; the allowances in .clippy.toml reach test functions, not their helpers"
)]

mod bad_input;
mod clock;
mod contenders;
mod crash;
mod examples;
mod fair;
mod job;
mod monitor;
mod outage;
mod redlock;
mod reentrant;
mod simple;
mod sql;
mod support;
mod watchdog;
