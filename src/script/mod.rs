//! The Redis scripts as typed calls: one file a script, and every key name in [`keys`].

pub mod keys;

/// The claim record's layout, put before every script that reads or writes it.
pub const CLAIM_LUA: &str = include_str!("../../lua/claim.lua");
