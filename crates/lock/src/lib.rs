//! Locks in Redis for work that one process at a time should do, and what such a lock cannot promise: docs/locks.md.
//!
//! [`Locks`] makes them over any connection of the `redis` crate: [`Simple`], [`Reentrant`] and [`Fair`], each with or
//! without renewal and fencing numbers ([`Terms`]); [`Redlock`] over several independent [`Servers`]. Each gives a
//! [`Guard`], which tells when the lease is lost and releases on drop. [`Job`] runs work under a lock, or under a lease
//! kept elsewhere when Redis is away. [`Monitor`] counts it all.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use sluice_lock::{Locks, Terms, Wait};
//! use std::time::Duration;
//!
//! let connection = redis::Client::open("redis://127.0.0.1")?.get_connection_manager().await?;
//! let locks = Locks::new(connection, "shop")?;
//! let terms = Terms::new(Duration::from_secs(10))?.renewed_up_to(Duration::from_secs(600))?;
//! let guard = locks.simple("reconcile", terms)?.acquire(Wait::up_to(Duration::from_secs(2))).await?;
//! let done = guard.while_held(async { "reconciled" }).await;
//! guard.release().await?;
//! # let _ = done; Ok(()) }
//! ```

mod error;
mod fair;
mod fence;
mod guard;
mod hold;
mod job;
mod keys;
mod lease;
mod locks;
mod monitor;
mod redlock;
mod reentrant;
mod script;
mod simple;
mod store;
mod terms;
mod token;
mod validity;
mod wait;

pub use error::{Fault, Invalid, NotAcquired};
pub use fair::Fair;
pub use fence::Fence;
pub use guard::{Guard, Lost, Released};
pub use job::{Fallback, Job, Trouble, Turn};
pub use locks::Locks;
pub use monitor::{Monitor, Scan, Scanned};
pub use redlock::{Redlock, Servers};
pub use reentrant::Reentrant;
pub use simple::Simple;
pub use store::Redis;
pub use terms::Terms;
pub use token::Owner;
pub use wait::Wait;
