//! The Redis scripts as typed calls: one file a script, and every key name in [`keys`].

pub mod admit;
pub mod complete;
pub mod counters;
pub mod deduct;
pub mod due;
pub mod keys;
pub mod preheat;
pub mod product;
pub mod release;
pub mod repair;
pub mod reply;
pub mod restore;
pub mod settled;

pub use sluice_upstash::{Arg, Script, Value};

/// The claim record's layout, put before every script that reads or writes it.
pub const CLAIM_LUA: &str = include_str!("../../lua/claim.lua");
