//! What must hold after any faults. Pure, so that it can be tested with books that lie.

use super::books::{Books, Order};
use super::crowd::Crowd;
use super::tally::Told;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a loss of Redis, by which alone accepted orders may be gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// When the recovery had ended, ms after the start: what was accepted later is never lost.
    pub until: u64,
    /// Ids of the orders that SQL had before.
    pub kept: BTreeSet<String>,
    /// Order ids that the stream held before, with their numbers (`seq`).
    pub numbers: BTreeMap<String, u64>,
    /// Up to which number the recovery looked for gaps.
    pub highest_seq: u64,
    /// How many it reported.
    pub missing: u64,
}

/// A sentence for each invariant that does not hold.
#[must_use]
pub fn judge(crowd: &Crowd, told: &[(u64, Told)], books: &Books, loss: Option<&Loss>) -> Vec<String> {
    let mut judge = Judge {
        told,
        orders: books.orders.iter().map(|order| (order.id.as_str(), order)).collect(),
        loss,
        broken: Vec::new(),
    };
    judge.operations(books);
    judge.stock(crowd, books);
    judge.quotas(crowd, books);
    judge.ledger(books);
    judge.payments(books);
    judge.broken
}

struct Judge<'a> {
    told: &'a [(u64, Told)],
    orders: BTreeMap<&'a str, &'a Order>,
    loss: Option<&'a Loss>,
    broken: Vec<String>,
}

impl Judge<'_> {
    fn must(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(otherwise());
        }
    }

    /// One order for each operation, the same in every answer, and none is lost.
    fn operations(&mut self, books: &Books) {
        let mut answers: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
        let mut answered = BTreeSet::new();
        for (at, told) in self.told {
            match told {
                Told::Accepted { op, order } => {
                    answers.entry(op).or_default().insert(order, *at);
                    answered.insert(op.as_str());
                }
                Told::Refused { op, .. } => {
                    answered.insert(op.as_str());
                }
                _ => {}
            }
        }
        let mut lost = BTreeSet::new();
        for (op, orders) in &answers {
            let gone: Vec<&str> = orders.keys().copied().filter(|id| !self.orders.contains_key(id)).collect();
            for id in &gone {
                let last = orders.get(id).copied().unwrap_or(u64::MAX);
                let excused = self.loss.is_some_and(|loss| last <= loss.until);
                self.must(excused, || format!("order {id} of {op} was accepted and is lost"));
            }
            let left = orders.len() - gone.len();
            self.must(left <= 1, || format!("{op} was told of {left} orders: {:?}", orders.keys()));
            lost.extend(gone);
        }
        for (id, op) in answers.iter().flat_map(|(op, ids)| ids.keys().map(move |id| (*id, *op))) {
            let Some(order) = self.orders.get(id).copied() else { continue };
            self.must(order.op == op, || format!("order {id} was told to {op} and is {}'s", order.op));
            self.must(order.status != "failed", || format!("order {id} of {op} was accepted and has failed"));
        }
        let mut ops = BTreeSet::new();
        for order in &books.orders {
            self.must(ops.insert(&order.op), || format!("{} has more than one order", order.op));
            let heard = answered.contains(order.op.as_str());
            self.must(heard, || format!("order {} of {} is in SQL and nobody was told anything", order.id, order.op));
        }
        for (_, told) in self.told {
            match told {
                Told::GaveUp { what, order } if order.as_ref().is_none_or(|id| !lost.contains(id.as_str())) => {
                    self.must(false, || format!("nobody ever answered: {what}"));
                }
                Told::Cancelled { order } => {
                    let status = self.orders.get(order.as_str()).map(|order| order.status.clone());
                    self.must(status.as_deref() == Some("cancelled"), || {
                        format!("order {order} was told to be cancelled and is {status:?}")
                    });
                }
                _ => {}
            }
        }
        self.must(books.dead.is_empty(), || format!("good entries were given up: {:?}", books.dead));
        self.after_a_loss(&lost);
    }

    /// What SQL had is kept, and what is gone was reported.
    fn after_a_loss(&mut self, lost: &BTreeSet<&str>) {
        let Some(loss) = self.loss else { return };
        for id in &loss.kept {
            self.must(self.orders.contains_key(id.as_str()), || format!("order {id} was settled and is gone"));
        }
        // An origin that starts between the loss and the recovery knows no higher number than SQL, and may give some again:
        // what is lost under those cannot be told from what was settled under them.
        let again: BTreeSet<u64> = self.orders.values().filter_map(|order| u64::try_from(order.seq).ok()).collect();
        let listed =
            |id: &&&str| loss.numbers.get(**id).is_some_and(|seq| *seq <= loss.highest_seq && !again.contains(seq));
        let listed = lost.iter().filter(listed).count() as u64;
        self.must(listed <= loss.missing, || {
            format!("{listed} numbered orders are lost, and the recovery reported {}", loss.missing)
        });
    }

    /// initial = live + sum of live orders, in both stores.
    fn stock(&mut self, crowd: &Crowd, books: &Books) {
        let (initial, units, sql) = (books.initial, books.units(), books.sql_stock);
        self.must(i64::try_from(crowd.stock) == Ok(initial), || format!("initial stock is {initial}"));
        self.must(units <= initial, || format!("oversold: {units} of {initial}"));
        self.must(sql == initial - units, || format!("SQL has {sql} left of {initial}, live orders hold {units}"));
        self.must(books.redis_stock == Some(sql), || {
            format!("stock is {:?} in Redis and {sql} in SQL", books.redis_stock)
        });
        self.must(books.sale == "open", || format!("the sale is {}", books.sale));
        self.must(books.at_rest(), || {
            let Books { waiting, outbox, overdue, .. } = books;
            format!("not at rest: {waiting} entries in the stream, {outbox} in the outbox, {overdue} orders overdue")
        });
    }

    /// Nobody has more than they may, and Redis counts the same orders as SQL.
    fn quotas(&mut self, crowd: &Crowd, books: &Books) {
        let mut live: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
        for order in books.orders.iter().filter(|order| order.is_live()) {
            live.entry(order.user.clone()).or_default().insert(order.id.clone(), order.quantity);
        }
        for (user, orders) in &live {
            let units: i64 = orders.values().sum();
            self.must(units <= crowd.per_user.into(), || format!("{user} has {units} units of {}", crowd.per_user));
        }
        self.must(live == books.buyers, || format!("buyers in SQL: {live:?}; in Redis: {:?}", books.buyers));
    }

    /// Each `before` is the `after` above it, from nothing to the present stock.
    fn ledger(&mut self, books: &Books) {
        let mut stock = 0;
        for (row, entry) in books.ledger.iter().enumerate() {
            let whole = entry.before == stock && entry.before + entry.quantity == entry.after;
            self.must(whole, || format!("ledger row {}: {entry:?} after {stock}", row + 1));
            stock = entry.after;
        }
        let sql = books.sql_stock;
        self.must(stock == sql, || format!("the ledger ends at {stock}, the stock is {sql}"));
    }

    /// Money is for a paid order, once, or is to go back.
    fn payments(&mut self, books: &Books) {
        let rows: BTreeMap<&str, &str> =
            books.payments.iter().map(|row| (row.number.as_str(), row.status.as_str())).collect();
        for (_, told) in self.told {
            match told {
                Told::Paid { number, order } => {
                    let row = rows.get(number.as_str()).copied();
                    self.must(matches!(row, Some("applied" | "refund_due")), || {
                        format!("payment {number} of {order} got SUCCESS and is {row:?}")
                    });
                }
                Told::NotPaid { number, .. } => {
                    self.must(rows.contains_key(number.as_str()), || format!("payment {number} was not recorded"));
                }
                Told::Believed { order } => {
                    self.must(false, || format!("a forged callback about {order} was believed"));
                }
                _ => {}
            }
        }
        let mut applied: BTreeMap<&str, u32> = BTreeMap::new();
        for row in &books.payments {
            self.must(!row.number.starts_with(FORGED), || format!("forged payment {} was recorded", row.number));
            let status = self.orders.get(row.order.as_str()).map(|order| order.status.clone());
            if row.status == "applied" {
                *applied.entry(&row.order).or_default() += 1;
                self.must(status.as_deref() == Some("paid"), || {
                    format!("payment {} was applied to an order that is {status:?}", row.number)
                });
            } else {
                let over = status.as_deref().is_some_and(|status| status != "pending_payment");
                self.must(over, || format!("payment {} is {} and its order {status:?}", row.number, row.status));
            }
        }
        for order in books.orders.iter().filter(|order| order.status == "paid") {
            let times = applied.get(order.id.as_str()).copied().unwrap_or(0);
            self.must(times == 1, || format!("order {} is paid, by {times} payments", order.id));
        }
    }
}

/// How the numbers of forged payments begin.
pub const FORGED: &str = "forged-";

#[cfg(test)]
mod tests;
