//! What admission said.

use super::{Level, Shut};
use crate::model::Millis;

/// The outcome of one call of `lua/admit.lua`. "Unknown" never hides in admitted or limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Passes; all buckets were charged.
    Admitted {
        /// The op id of an earlier claim that was taken over.
        taken_over: Option<String>,
        /// Each bucket after the charge.
        levels: Vec<Level>,
    },
    /// At least one bucket refuses; none was charged.
    Limited {
        /// Each bucket as it is.
        levels: Vec<Level>,
    },
    /// The same operation is under way.
    InFlight {
        /// When it may be tried again, by Redis' clock.
        deadline: Millis,
    },
    /// The operation was answered before.
    Replay {
        /// The packed answer.
        answer: String,
    },
    /// The same operation with other contents; charged.
    Mismatch {
        /// Each bucket after the charge.
        levels: Vec<Level>,
    },
    /// The operation began, and its outcome is not known.
    OutcomeUnknown,
    /// Redis ran the call after its caller had given up; nothing was claimed.
    TooLate,
    /// The sale sells nothing, and the operation has no claim yet.
    Shut(Shut),
    /// The operation has no claim yet, so the refusal that the caller brought stands.
    ElseRefused,
    /// The operation was answered before, but the answer was too large to keep.
    Tombstone,
    /// The stored order token is not there: it was used, or never stored. The operation has no claim.
    TokenUsed,
    /// The user's JWT is revoked.
    Revoked,
}

impl Verdict {
    /// Whether the sale was read on the way to it, where it was asked for; an operation's own outcome comes before.
    #[must_use]
    pub fn has_read_sale(&self) -> bool {
        matches!(self, Self::Admitted { .. } | Self::Limited { .. } | Self::Shut(_))
    }
}
