//! The one file of this crate that reads a clock.

#![allow(clippy::disallowed_methods, reason = "the one place where this program reads the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use sluice::model::Millis;

/// Now, by this machine's clock.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
