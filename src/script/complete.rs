//! `lua/complete.lua`: finish a claim with its answer.

use std::sync::LazyLock;

use sluice_upstash::{Arg, Script, Value};

use super::CLAIM_LUA;
use super::reply::ReplyFault;
use crate::digest::Tag;

/// The script.
pub static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new(&[CLAIM_LUA, include_str!("../../lua/complete.lua")]));

/// ARGV: the owner and the packed answer, or nothing when it is too large to keep.
#[must_use]
pub fn args<'a>(owner: &'a Tag, answer: Option<&'a str>) -> [Arg<'a>; 2] {
    [Arg::Str(owner.as_str()), Arg::Str(answer.unwrap_or_default())]
}

/// Whether the claim was this owner's to finish.
///
/// # Errors
/// [`ReplyFault`] when the reply is not the script's.
pub fn parse(reply: &Value) -> Result<bool, ReplyFault> {
    match reply {
        Value::Int(0) => Ok(false),
        Value::Int(1) => Ok(true),
        _ => Err(ReplyFault),
    }
}
