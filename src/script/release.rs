//! `lua/release.lua`: give a claim up.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script};

use super::CLAIM_LUA;
pub use super::complete::parse;
use crate::digest::Tag;
use crate::model::Millis;

/// The script.
pub static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new(&[CLAIM_LUA, include_str!("../../lua/release.lua")]));

/// Why the claim is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The operation never began, or may begin anew: the next attempt finds nothing.
    Forget,
    /// It may still begin until this Redis time: the next attempt takes over from then on.
    NotBefore(Millis),
}

/// ARGV.
#[must_use]
pub fn args<'a>(owner: &'a Tag, release: Release) -> [Arg<'a>; 2] {
    let not_after = match release {
        Release::Forget => 0,
        Release::NotBefore(instant) => instant.0,
    };
    [Arg::Str(owner.as_str()), Arg::Int(not_after)]
}
