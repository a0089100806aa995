//! Whether Redis and SQL agree about a sale's stock.

use serde::Serialize;

/// Units by which the two may differ while orders flow, besides those that are seen to move.
const SLACK: i64 = 5;

/// What was read of one sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) sku: String,
    /// Redis' stock before and after SQL was read; `None` where there is none.
    pub(crate) redis: [Option<i64>; 2],
    /// SQL's stock.
    pub(crate) sql: i64,
    /// Units that Redis has accepted and SQL has not settled.
    pub(crate) unsettled: i64,
    /// Units that SQL has given back and Redis has not.
    pub(crate) owed: i64,
    /// Deducts in the partition between the first and the last look.
    pub(crate) deducts: u64,
    pub(crate) per_user: u32,
}

/// The verdict on one sale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Balance {
    pub(crate) sku: String,
    pub(crate) redis_stock: Option<i64>,
    pub(crate) sql_stock: i64,
    pub(crate) unsettled: i64,
    pub(crate) owed: i64,
    /// What Redis should have: SQL's stock, less what is not settled, less what is owed.
    pub(crate) expected: i64,
    /// Redis' stock less what it should be: above zero, Redis could sell too much.
    pub(crate) difference: i64,
    /// How large a difference says nothing, because orders were flowing.
    pub(crate) tolerance: i64,
    pub(crate) agrees: bool,
}

impl Balance {
    pub(crate) fn of(reading: &Reading) -> Self {
        let Reading { redis: [first, last], sql, unsettled, owed, .. } = *reading;
        let expected = sql.saturating_sub(unsettled).saturating_sub(owed);
        // No stock at all is not a difference of so many units: it is a sale that Redis has lost.
        let difference = last.map_or(expected.saturating_neg(), |stock| stock.saturating_sub(expected));
        let idle = first == last && reading.deducts == 0;
        let moved = first.unwrap_or(0).abs_diff(last.unwrap_or(0));
        let moved = moved.saturating_add(reading.deducts.saturating_mul(reading.per_user.into()));
        let moved = i64::try_from(moved).unwrap_or(i64::MAX);
        let tolerance = if idle { 0 } else { moved.saturating_add(SLACK) };
        let agrees = last.is_some() && difference.saturating_abs() <= tolerance;
        let sku = reading.sku.clone();
        Self { sku, redis_stock: last, sql_stock: sql, unsettled, owed, expected, difference, tolerance, agrees }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(redis: [Option<i64>; 2], deducts: u64) -> Reading {
        Reading { sku: "demo".into(), redis, sql: 100, unsettled: 7, owed: 3, deducts, per_user: 2 }
    }

    #[test]
    fn an_idle_sale_must_agree_to_the_unit() {
        let of = |stock| Balance::of(&reading([Some(stock); 2], 0));
        assert_eq!((of(90).agrees, of(90).difference), (true, 0));
        assert_eq!((of(91).agrees, of(91).difference), (false, 1), "Redis could sell one too many");
        assert_eq!((of(89).agrees, of(89).difference), (false, -1));
    }

    #[test]
    fn a_flowing_sale_may_differ_by_what_was_seen_to_move_and_a_little() {
        let of = |last, deducts| Balance::of(&reading([Some(90), Some(last)], deducts));
        assert_eq!((of(86, 2).tolerance, of(86, 2).agrees), (4 + 4 + 5, true));
        assert!(of(104, 0).agrees, "it went up by 14: something is being given back");
        assert!(!Balance::of(&reading([Some(120), Some(119)], 1)).agrees);
    }

    #[test]
    fn a_sale_that_redis_has_lost_never_agrees() {
        let lost = Balance::of(&reading([None, None], 0));
        assert_eq!((lost.agrees, lost.redis_stock, lost.difference), (false, None, -90));
        let empty = Reading { sql: 0, unsettled: 0, owed: 0, ..reading([None, None], 0) };
        assert!(!Balance::of(&empty).agrees);
    }
}
