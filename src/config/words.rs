//! Values that several sections write alike.

use super::reader::{Faults, Place};
use crate::model::Quota;

pub(super) fn quota(faults: &Faults, burst: u64, (rate, at): (String, Place)) -> Option<Quota> {
    match Quota::parse(u32::try_from(burst).ok()?, &rate) {
        Ok(quota) => Some(quota),
        Err(fault) => {
            faults.note(&at, fault.to_string());
            None
        }
    }
}

/// A word that may stand in a Redis key.
pub(super) fn key_word(faults: &Faults, key: &str, word: String, at: &Place) -> Option<String> {
    let fine = (1..=32).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !fine {
        faults.note(at, format!("`{key}` must be 1 to 32 of a-z, 0-9 and -"));
    }
    fine.then_some(word)
}
