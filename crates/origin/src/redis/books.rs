//! What Redis holds of a partition, as reconciliation and recovery read it, and what recovery writes.

use std::collections::HashMap;

use ::redis::{FromRedisValue as _, Value};
use sluice::model::{Millis, Partition, Sku};
use sluice::script::keys::Keyspace;
use sluice::script::preheat::Terms;
use sluice::script::repair::{self, Repair};

use super::RedisFault;
use super::link::Link;
use super::stream::GROUP;
use crate::domain::order::Placed;

/// Entries that one look takes, and fields that one command writes.
const PAGE: usize = 1_000;

/// The counters of a partition at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) seq: u64,
    /// In the order of the SKUs that were asked for; `None` where there is no such stock.
    pub(crate) stocks: Vec<Option<i64>>,
}

/// What recovery writes of one sale.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rebuilt {
    /// User and the list of `order id:quantity` they hold.
    pub(crate) buyers: Vec<(String, String)>,
    /// Op id, order id, and how long the operation is remembered still.
    pub(crate) requests: Vec<(String, String, Millis)>,
    /// Orders that are to be paid, with the time until which.
    pub(crate) due: Vec<(String, i64)>,
}

impl Link {
    /// `seq` and stocks.
    pub(crate) async fn counters(&self, keys: &Keyspace, p: Partition, skus: &[Sku]) -> Result<Counters, RedisFault> {
        let mut all = ::redis::pipe();
        all.cmd("GET").arg(keys.seq(p));
        for sku in skus {
            all.cmd("GET").arg(keys.stock(sku));
        }
        let mut values: Vec<Option<i64>> = self.pipeline(p, &all).await?;
        let seq = if values.is_empty() { None } else { values.remove(0) };
        Ok(Counters { seq: seq.and_then(|seq| u64::try_from(seq).ok()).unwrap_or(0), stocks: values })
    }

    /// The accepted orders that are still in the stream, settled or not. What cannot be read is left out: nobody knows
    /// whose unit it holds.
    pub(crate) async fn in_stream(&self, keys: &Keyspace, p: Partition) -> Result<Vec<Placed>, RedisFault> {
        let mut all = Vec::new();
        let mut from = "-".to_owned();
        loop {
            let mut range = ::redis::cmd("XRANGE");
            range.arg(keys.orders(p)).arg(&from).arg("+").arg("COUNT").arg(PAGE);
            let page: Vec<(String, HashMap<String, String>)> = self.command(p, &range).await?;
            let Some((last, _)) = page.last() else { return Ok(all) };
            from = format!("({last}");
            all.extend(page.iter().filter_map(|(id, fields)| Placed::parse(id, fields).ok()));
        }
    }

    /// Whether everything in the stream was delivered and acknowledged.
    pub(crate) async fn is_drained(&self, keys: &Keyspace, p: Partition) -> Result<bool, RedisFault> {
        let key = keys.orders(p);
        if self.command::<i64>(p, ::redis::cmd("EXISTS").arg(&key)).await? == 0 {
            return Ok(true);
        }
        let groups: Vec<HashMap<String, Value>> =
            self.command(p, ::redis::cmd("XINFO").arg("GROUPS").arg(&key)).await?;
        let text = |value: &Value| String::from_redis_value(value.clone()).unwrap_or_default();
        let group = groups.iter().find(|group| group.get("name").map(text).as_deref() == Some(GROUP));
        let Some(group) = group else { return Ok(false) };
        if group.get("pending") != Some(&Value::Int(0)) {
            return Ok(false);
        }
        let after = format!("({}", group.get("last-delivered-id").map(text).unwrap_or_default());
        let mut rest = ::redis::cmd("XRANGE");
        let rest: Vec<Value> = self.command(p, rest.arg(key).arg(after).arg("+").arg("COUNT").arg(1)).await?;
        Ok(rest.is_empty())
    }

    /// Which of these restores Redis has carried out.
    pub(crate) async fn restored(
        &self,
        keys: &Keyspace,
        p: Partition,
        ids: &[String],
    ) -> Result<Vec<bool>, RedisFault> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = ::redis::pipe();
        for id in ids {
            all.cmd("EXISTS").arg(keys.restored(p, id));
        }
        self.pipeline(p, &all).await
    }

    /// Sets a sale's stock, unless it has moved.
    pub(crate) async fn repair(&self, keys: &Keyspace, call: &Repair<'_>) -> Result<bool, RedisFault> {
        let numbers = call.numbers();
        let reply =
            self.eval(keys.partition_of(call.sku), &repair::SCRIPT, &call.keys(keys), &repair::args(&numbers)).await?;
        Ok(repair::parse(&reply)?)
    }

    /// Writes a sale's terms as paused, and its buyers, requests and due orders anew. Its stock comes last, by
    /// [`Link::repair`]: until then nobody can buy.
    pub(crate) async fn rebuild(
        &self,
        keys: &Keyspace,
        sku: &Sku,
        terms: &Terms,
        rebuilt: &Rebuilt,
    ) -> Result<(), RedisFault> {
        let p = keys.partition_of(sku);
        let mut head = ::redis::pipe();
        head.cmd("HSET").arg(keys.sale(sku));
        let paused = Terms { paused: true, ..*terms };
        for (name, value) in [
            ("starts_at", paused.starts_at.0),
            ("ends_at", paused.ends_at.0),
            ("paused", paused.paused.into()),
            ("per_user", paused.per_user.into()),
            ("price", paused.price),
            ("version", paused.version),
        ] {
            head.arg(name).arg(value);
        }
        head.cmd("PERSIST").arg(keys.sale(sku)).cmd("DEL").arg(keys.buyers(sku));
        self.pipeline::<()>(p, &head).await?;
        for chunk in rebuilt.buyers.chunks(PAGE) {
            let mut write = ::redis::cmd("HSET");
            write.arg(keys.buyers(sku));
            for (user, orders) in chunk {
                write.arg(user).arg(orders);
            }
            self.command::<i64>(p, &write).await?;
        }
        for chunk in rebuilt.requests.chunks(PAGE) {
            let mut all = ::redis::pipe();
            for (op, order, ttl) in chunk {
                all.cmd("SET").arg(keys.request(p, op)).arg(order).arg("PX").arg(ttl.0.max(1));
            }
            self.pipeline::<()>(p, &all).await?;
        }
        for chunk in rebuilt.due.chunks(PAGE) {
            let mut write = ::redis::cmd("ZADD");
            write.arg(keys.due(p));
            for (order, at) in chunk {
                write.arg(at).arg(order);
            }
            self.command::<i64>(p, &write).await?;
        }
        Ok(())
    }

    /// Raises `seq`. Only while every sale of the partition is paused.
    pub(crate) async fn set_seq(&self, keys: &Keyspace, p: Partition, seq: u64) -> Result<(), RedisFault> {
        self.command::<()>(p, ::redis::cmd("SET").arg(keys.seq(p)).arg(seq)).await?;
        self.saw_seq(p, seq);
        Ok(())
    }
}
