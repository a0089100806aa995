//! What must hold after any rush. Pure, so that it can be tested with books that lie.

use super::books::Books;
use super::tally::Tally;
use std::collections::BTreeSet;

/// The outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) sold: i64,
    pub(super) settled: i64,
    pub(super) oversold: i64,
    pub(super) undersold: i64,
    pub(super) duplicate_orders: i64,
    /// A sentence for each invariant that does not hold.
    pub(super) broken: Vec<String>,
}

/// Compares what users saw with what the books say.
pub(super) fn check(stock: u64, tally: &Tally, books: &Books) -> Verdict {
    let stock = i64::try_from(stock).unwrap_or(i64::MAX);
    let buyers = i64::try_from(tally.honest).unwrap_or(i64::MAX);
    let expected = stock.min(buyers);
    let sold = stock - books.redis_stock;
    let settled = books.units();
    let counts = books.orders_by_user();
    let duplicates = counts.values().filter(|count| **count > 1).count();
    let mut verdict = Verdict {
        sold,
        settled,
        oversold: (sold.max(settled) - expected).max(0),
        undersold: (expected - sold.min(settled)).max(0),
        duplicate_orders: i64::try_from(duplicates).unwrap_or(i64::MAX),
        broken: Vec::new(),
    };
    let mut must = |holds: bool, otherwise: String| {
        if !holds {
            verdict.broken.push(otherwise);
        }
    };
    must(sold == settled, format!("Redis sold {sold}, SQL settled {settled}"));
    must(sold == expected, format!("{sold} were sold; {buyers} could buy {stock}"));
    must(duplicates == 0, format!("{duplicates} users have more than one live order"));
    let (redis, sql) = (books.redis_stock, books.sql_stock);
    must(redis == sql, format!("stock is {redis} in Redis and {sql} in inventory"));
    must(redis >= 0, format!("stock in Redis is {redis}"));
    must(books.sql_initial == stock, format!("inventory.initial is {}, not {stock}", books.sql_initial));
    if let Some(fault) = ledger(stock, books) {
        must(false, fault);
    }
    let known: BTreeSet<&str> = books.orders.iter().map(|order| order.id.as_str()).collect();
    let answered: BTreeSet<&str> = tally.orders.values().flatten().map(String::as_str).collect();
    let lost = answered.difference(&known).count();
    must(lost == 0, format!("{lost} orders that the edge answered 202 for are not in SQL"));
    let silent = known.difference(&answered).count();
    must(silent == 0, format!("{silent} orders are in SQL that no user was told of"));
    let users: BTreeSet<&str> = counts.keys().copied().collect();
    let redis_users: BTreeSet<&str> = books.redis_buyers.iter().map(String::as_str).collect();
    let apart = users.symmetric_difference(&redis_users).count();
    must(apart == 0, format!("{apart} users are buyers in only one of Redis and SQL"));
    let cheats = tally.dishonest.iter().filter(|user| users.contains(user.as_str())).count();
    must(cheats == 0, format!("{cheats} users without a valid token have an order"));
    must(tally.not_refused == 0, format!("{} users without a valid token were not refused", tally.not_refused));
    must(tally.unfinished == 0, format!("{} users never came to a final answer", tally.unfinished));
    verdict
}

/// The ledger is a chain from the initial stock to the present one.
fn ledger(stock: i64, books: &Books) -> Option<String> {
    let mut at = books.ledger.first().map_or(stock, |entry| entry.before);
    for (row, entry) in books.ledger.iter().enumerate() {
        if entry.before != at {
            return Some(format!("ledger row {}: before is {}, the row above ends at {at}", row + 1, entry.before));
        }
        at = entry.after;
    }
    (at != books.sql_stock).then(|| format!("the ledger ends at {at}, inventory is {}", books.sql_stock))
}

#[cfg(test)]
mod tests {
    use super::super::books::{Entry, Order};
    use super::*;

    /// Three users, two items, both sold.
    fn honest() -> (Tally, Books) {
        let mut tally = Tally::new();
        tally.honest = 3;
        let mut books = Books { sql_initial: 2, ..Books::default() };
        for (user, id, before) in [("u1", "A", 2), ("u2", "B", 1)] {
            tally.orders.entry(user.into()).or_default().insert(id.into());
            books.redis_buyers.insert(user.into());
            books.orders.push(Order { id: id.into(), user: user.into(), quantity: 1 });
            books.ledger.push(Entry { before, after: before - 1 });
        }
        (tally, books)
    }

    fn broken(change: impl FnOnce(&mut Tally, &mut Books)) -> (Verdict, String) {
        let (mut tally, mut books) = honest();
        change(&mut tally, &mut books);
        let verdict = check(2, &tally, &books);
        let text = verdict.broken.join("\n");
        (verdict, text)
    }

    #[test]
    fn honest_books_pass() {
        let (verdict, text) = broken(|_, _| ());
        assert_eq!(text, "");
        assert_eq!((verdict.sold, verdict.settled, verdict.oversold, verdict.undersold), (2, 2, 0, 0));
    }

    #[test]
    fn fewer_buyers_than_stock_is_no_fault() {
        let (mut tally, mut books) = honest();
        tally.honest = 2;
        tally.dishonest.insert("u3".into());
        books.redis_stock = 3;
        books.sql_stock = 3;
        books.sql_initial = 5;
        books.ledger = vec![Entry { before: 5, after: 4 }, Entry { before: 4, after: 3 }];
        assert_eq!(check(5, &tally, &books).broken, Vec::<String>::new());
    }

    #[test]
    fn a_sale_below_zero_is_oversold() {
        let (verdict, text) = broken(|tally, books| {
            tally.orders.entry("u3".into()).or_default().insert("C".into());
            books.redis_buyers.insert("u3".into());
            books.orders.push(Order { id: "C".into(), user: "u3".into(), quantity: 1 });
            books.ledger.push(Entry { before: 0, after: -1 });
            (books.redis_stock, books.sql_stock) = (-1, -1);
        });
        assert_eq!(verdict.oversold, 1);
        assert!(text.contains("stock in Redis is -1"), "{text}");
    }

    #[test]
    fn an_order_that_was_not_settled_is_lost() {
        let (verdict, text) = broken(|_, books| {
            books.orders.pop();
        });
        assert_eq!(verdict.undersold, 1);
        assert!(text.contains("1 orders that the edge answered 202 for are not in SQL"), "{text}");
    }

    #[test]
    fn a_second_order_of_one_user_is_seen() {
        let (verdict, _) = broken(|_, books| {
            if let Some(order) = books.orders.get_mut(1) {
                "u1".clone_into(&mut order.user);
            }
        });
        assert_eq!(verdict.duplicate_orders, 1);
    }

    #[test]
    fn a_gap_in_the_ledger_is_seen() {
        let (_, text) = broken(|_, books| {
            books.ledger.remove(0);
            books.ledger.push(Entry { before: 5, after: 0 });
        });
        assert!(text.contains("ledger row 2: before is 5, the row above ends at 0"), "{text}");
    }

    #[test]
    fn books_that_disagree_are_seen() {
        assert!(broken(|_, books| books.sql_stock = 1).1.contains("stock is 0 in Redis and 1 in inventory"));
        assert!(broken(|_, books| books.sql_initial = 9).1.contains("inventory.initial is 9"));
        assert!(broken(|_, books| books.redis_buyers.clear()).1.contains("buyers in only one"));
    }

    #[test]
    fn a_forged_token_that_bought_something_is_seen() {
        let (_, text) = broken(|tally, _| {
            tally.dishonest.insert("u1".into());
            tally.not_refused = 1;
        });
        assert!(text.contains("without a valid token have an order"), "{text}");
        assert!(text.contains("were not refused"), "{text}");
    }

    #[test]
    fn a_user_without_an_answer_is_seen() {
        assert!(broken(|tally, _| tally.unfinished = 1).1.contains("never came to a final answer"));
    }
}
