//! The ledger: one row per change of stock, chained by before and after.

use serde::Serialize;
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
    /// Units were added.
    Restock,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Order => "order",
            Self::Cancel => "cancel",
            Self::Restock => "restock",
        }
    }

    fn letters(self) -> &'static str {
        match self {
            Self::Initial => "IN",
            Self::Order => "OR",
            Self::Cancel => "CA",
            Self::Restock => "RS",
        }
    }
}

/// The number of a row: letters of the kind, the date (UTC), and what it is about. The same change has the same number
/// whenever it is written, so that its unique index refuses to write it twice.
pub(crate) fn number(kind: Kind, at: Millis, about: &str) -> String {
    let date = i64::try_from(at.0).ok().and_then(chrono::DateTime::from_timestamp_millis).unwrap_or_default();
    format!("{}{}-{about}", kind.letters(), date.format("%Y%m%d"))
}

/// A row, as far as the chain is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) number: String,
    pub(crate) quantity: i64,
    pub(crate) before: i64,
    pub(crate) after: i64,
}

/// Where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Break {
    pub(crate) sku: String,
    /// Number of the row, or of the last one where the stock does not follow from it.
    pub(crate) log_no: String,
    pub(crate) what: &'static str,
    pub(crate) expected: i64,
    pub(crate) found: i64,
}

/// Follows the chain of one sale from row to row.
#[derive(Debug)]
pub(crate) struct Chain {
    sku: String,
    /// Number and `after` of the row before.
    last: (String, i64),
    pub(crate) rows: u64,
    pub(crate) breaks: Vec<Break>,
}

impl Chain {
    /// Before the first row there is nothing.
    pub(crate) fn of(sku: &str) -> Self {
        Self { sku: sku.to_owned(), last: (String::new(), 0), rows: 0, breaks: Vec::new() }
    }

    /// The next row.
    pub(crate) fn follow(&mut self, link: &Link) {
        self.rows += 1;
        self.check(&link.number, "before_stock is not the previous after_stock", self.last.1, link.before);
        let sum = link.before.saturating_add(link.quantity);
        self.check(&link.number, "after_stock is not before_stock and quantity", sum, link.after);
        self.last = (link.number.clone(), link.after);
    }

    /// After the last row.
    pub(crate) fn end(mut self, stock: i64) -> (u64, Vec<Break>) {
        let (number, after) = self.last.clone();
        self.check(&number, "the stock is not the last after_stock", after, stock);
        (self.rows, self.breaks)
    }

    fn check(&mut self, number: &str, what: &'static str, expected: i64, found: i64) {
        if expected != found {
            self.breaks.push(Break { sku: self.sku.clone(), log_no: number.to_owned(), what, expected, found });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_chain_names_its_row() {
        let link = |number: &str, before, quantity, after| Link { number: number.into(), quantity, before, after };
        let whole = [link("a", 0, 10, 10), link("b", 10, -2, 8), link("c", 8, 1, 9)];
        let check = |links: &[Link], stock| {
            let mut chain = Chain::of("demo");
            links.iter().for_each(|link| chain.follow(link));
            chain.end(stock).1.into_iter().map(|found| (found.log_no, found.expected, found.found)).collect::<Vec<_>>()
        };
        assert_eq!(check(&whole, 9), []);
        assert_eq!(check(&whole, 8), [("c".into(), 9, 8)]);
        assert_eq!(check(&[whole[0].clone(), whole[2].clone()], 9), [("c".into(), 10, 8)]);
        assert_eq!(check(&[whole[0].clone(), link("b", 10, -2, 9)], 9), [("b".into(), 8, 9)]);
    }

    #[test]
    fn a_number_tells_kind_date_and_subject() {
        assert_eq!(number(Kind::Order, Millis(1_700_000_000_000), "0-1"), "OR20231114-0-1");
    }
}
