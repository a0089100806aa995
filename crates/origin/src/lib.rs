//! The origin of Sluice: takes stock in Redis, appends the order to a stream in the same script, settles it into SQL.
//!
//! `domain` is what sales and orders are; `redis`, `sql` and `http` are the adapters around it. `settle` moves accepted
//! orders from the stream into SQL, `due` cancels what was not paid in time, `outbox` carries back to Redis what SQL has
//! decided and `events` tells it to other services, `catalog` tells products, `board` which sales
//! there are, `jobs` is who does what one process does at a time, `serve` runs it all, and `cli` is the tool.

mod app;
mod board;
mod catalog;
pub mod cli;
pub mod clock;
pub mod config;
mod domain;
mod due;
mod events;
#[cfg(test)]
mod faults;
mod http;
mod jobs;
mod metrics;
mod ops;
mod outbox;
mod reconcile;
mod redis;
mod sale_cache;
mod serve;
mod settle;
mod shutdown;
mod sql;

pub use config::Config;
pub use serve::{Listeners, Origin, build, run};
