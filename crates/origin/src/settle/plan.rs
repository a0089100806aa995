//! What is to be done with each entry of a batch, from what SQL knows of their operations.

use std::collections::{HashMap, HashSet};

use sluice::model::Millis;

use crate::domain::order::Placed;

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its order was written, and its stock moved; it is to be paid by then.
    Settled { pay_by: Millis },
    /// Its order had been written before.
    Before,
    /// Its operation has another order, with this id; its stock goes back.
    Duplicate(String),
    /// Its operation is among the dead letters; its stock goes back.
    Dead,
    /// The buyer has an order already; this one failed, and its stock goes back.
    SlotTaken,
    /// SQL has less stock than Redis gave away; the order failed, and the sale is paused.
    Short,
}

/// A batch, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Fates that are known already, by position in the batch.
    pub(crate) known: Vec<(usize, Fate)>,
    /// Positions of the entries that are to be inserted.
    pub(crate) fresh: Vec<usize>,
}

/// Sorts a batch. `orders` maps the request ids that SQL has to their order ids; `dead` are those of dead letters.
pub(crate) fn plan(batch: &[Placed], orders: &HashMap<String, String>, dead: &HashSet<String>) -> Plan {
    let mut plan = Plan::default();
    let mut in_batch: HashMap<&str, &str> = HashMap::new();
    for (at, placed) in batch.iter().enumerate() {
        let op = placed.op_id.as_str();
        let first = orders.get(op).map(String::as_str).or_else(|| in_batch.get(op).copied());
        match first {
            Some(id) if id == placed.order.as_str() => plan.known.push((at, Fate::Before)),
            Some(id) => plan.known.push((at, Fate::Duplicate(id.to_owned()))),
            None if dead.contains(op) => plan.known.push((at, Fate::Dead)),
            None => {
                in_batch.insert(op, placed.order.as_str());
                plan.fresh.push(at);
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::order::tests::fields;

    fn placed(n: u8, op: &str) -> Placed {
        let id = format!("0-01JDZV6Q8W3M5K9T2R4X7Y1C{n:02}");
        Placed::parse(&format!("{n}-0"), &fields(&id, op)).unwrap()
    }

    #[test]
    fn one_operation_is_one_order_however_often_it_comes() {
        let batch = [placed(1, "a"), placed(1, "a"), placed(2, "a"), placed(3, "b"), placed(4, "c"), placed(5, "d")];
        let b = placed(9, "b").order.as_str().to_owned();
        let orders = HashMap::from([("b".to_owned(), b.clone()), ("d".to_owned(), placed(5, "d").order.to_string())]);
        let plan = plan(&batch, &orders, &HashSet::from(["c".to_owned()]));
        assert_eq!(plan.fresh, [0]);
        let a = batch[0].order.to_string();
        let want =
            [(1, Fate::Before), (2, Fate::Duplicate(a)), (3, Fate::Duplicate(b)), (4, Fate::Dead), (5, Fate::Before)];
        assert_eq!(plan.known, want);
    }
}
