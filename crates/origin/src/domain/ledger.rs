//! The ledger: one row per change of stock, chained by before and after.

use sluice::model::Millis;

/// Why stock changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A sale was created with its first stock.
    Initial,
    /// An order was settled.
    Order,
    /// An order was cancelled.
    Cancel,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Order => "order",
            Self::Cancel => "cancel",
        }
    }

    fn letters(self) -> &'static str {
        match self {
            Self::Initial => "IN",
            Self::Order => "OR",
            Self::Cancel => "CA",
        }
    }
}

/// The number of a row: letters of the kind, the date (UTC), and what it is about. The same change has the same number
/// whenever it is written, so that its unique index refuses to write it twice.
pub(crate) fn number(kind: Kind, at: Millis, about: &str) -> String {
    let date = i64::try_from(at.0).ok().and_then(chrono::DateTime::from_timestamp_millis).unwrap_or_default();
    format!("{}{}-{about}", kind.letters(), date.format("%Y%m%d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_kind_date_and_subject() {
        assert_eq!(number(Kind::Order, Millis(1_700_000_000_000), "0-1"), "OR20231114-0-1");
    }
}
