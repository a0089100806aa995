//! What clients were told, as they saw it.

use std::sync::{Mutex, PoisonError};

/// One thing that a client was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// An operation has this order.
    Accepted {
        /// Op id.
        op: String,
        /// Order id.
        order: String,
    },
    /// An operation was refused, finally or for now.
    Refused {
        /// Op id.
        op: String,
        /// The code of the refusal.
        code: String,
    },
    /// SUCCESS to a genuine callback that told of money.
    Paid {
        /// Payment number.
        number: String,
        /// Order id.
        order: String,
    },
    /// SUCCESS to a genuine callback that told that there is none.
    NotPaid {
        /// Payment number.
        number: String,
        /// Order id.
        order: String,
    },
    /// SUCCESS to a callback that was forged.
    Believed {
        /// Order id.
        order: String,
    },
    /// The owner was told that the order is cancelled.
    Cancelled {
        /// Order id.
        order: String,
    },
    /// A client has given up: it never came to an answer.
    GaveUp {
        /// What it wanted.
        what: String,
        /// Of which order, where there is one.
        order: Option<String>,
    },
}

/// Collects what clients were told.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Vec<(u64, Told)>>);

impl Tally {
    /// One more, at an instant in ms after the start.
    pub fn add(&self, at: u64, told: Told) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((at, told));
    }

    /// Everything so far, with the instants.
    #[must_use]
    pub fn all(&self) -> Vec<(u64, Told)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
