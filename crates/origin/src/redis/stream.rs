//! The stream of accepted orders, as one consumer of its group reads it.

use std::collections::HashMap;
use std::time::Duration;

use ::redis::{FromRedisValue as _, RedisError, Value, cmd};
use sluice::model::{Millis, OrderId, Partition};
use sluice::script::keys::Keyspace;
use sluice::script::settled::{SETTLED, Settled, TRIM};

use super::link::eval;
use super::seam::Connection;

/// The consumer group that settles.
pub(crate) const GROUP: &str = "settle";

/// An entry as it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// `None` when the entry is still pending but was removed from the stream.
    pub(crate) fields: Option<HashMap<String, String>>,
}

/// Which entries to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From<'a> {
    /// Those that were delivered to this consumer after an id and are not acknowledged.
    Pending(&'a str),
    /// Those that nobody was given, waiting for the first one so long.
    New(Duration),
}

/// One consumer on a connection of its own.
pub(crate) struct Consumer {
    pub(crate) connection: Connection,
    pub(crate) keys: Keyspace,
    pub(crate) partition: Partition,
    pub(crate) name: String,
    pub(crate) batch: usize,
}

impl Consumer {
    /// Makes the group where it is missing, from the very first entry on: what was accepted before it is settled too.
    pub(crate) async fn ensure_group(&mut self) -> Result<(), RedisError> {
        let key = self.keys.orders(self.partition);
        let mut create = cmd("XGROUP");
        create.arg("CREATE").arg(key).arg(GROUP).arg("0").arg("MKSTREAM");
        match create.query_async::<()>(&mut self.connection).await {
            Err(error) if error.code() == Some("BUSYGROUP") => Ok(()),
            other => other,
        }
    }

    /// Reads a batch.
    pub(crate) async fn read(&mut self, from: From<'_>) -> Result<Vec<Entry>, RedisError> {
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(GROUP).arg(&self.name).arg("COUNT").arg(self.batch);
        if let From::New(wait) = from {
            read.arg("BLOCK").arg(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        }
        read.arg("STREAMS").arg(self.keys.orders(self.partition)).arg(match from {
            From::Pending(after) => after,
            From::New(_) => ">",
        });
        let reply: Value = read.query_async(&mut self.connection).await?;
        // nil, or [[key, entries]]: there is one stream only.
        let mut streams = Vec::<(String, Value)>::from_redis_value(reply)?;
        streams.pop().map_or_else(|| Ok(Vec::new()), |(_, list)| entries(list))
    }

    /// Takes over entries that their consumer has left idle, from `cursor` on. Returns where to go on (`0-0` at the
    /// end), the entries, and the ids of those that are no longer in the stream.
    pub(crate) async fn take_over(
        &mut self,
        idle: Duration,
        cursor: &str,
    ) -> Result<(String, Vec<Entry>, Vec<String>), RedisError> {
        let mut claim = cmd("XAUTOCLAIM");
        claim.arg(self.keys.orders(self.partition)).arg(GROUP).arg(&self.name);
        claim.arg(u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)).arg(cursor).arg("COUNT").arg(self.batch);
        let (next, list, gone): (String, Value, Vec<String>) = claim.query_async(&mut self.connection).await?;
        Ok((next, entries(list)?, gone))
    }

    /// Which of these entries are still in the stream.
    pub(crate) async fn present(&mut self, ids: &[String]) -> Result<Vec<bool>, RedisError> {
        let mut ranges = ::redis::pipe();
        for id in ids {
            ranges.cmd("XRANGE").arg(self.keys.orders(self.partition)).arg(id).arg(id);
        }
        let found: Vec<Vec<Value>> = ranges.query_async(&mut self.connection).await?;
        Ok(found.iter().map(|entries| !entries.is_empty()).collect())
    }

    /// Acknowledges entries, and says of their orders what they are now and until when they are to be paid.
    pub(crate) async fn settled(
        &mut self,
        entries: Vec<&str>,
        orders: Vec<(OrderId, String)>,
        to_be_paid: Vec<(OrderId, Millis)>,
        order_ttl: Millis,
    ) -> Result<(), RedisError> {
        let call = Settled { partition: self.partition, group: GROUP, order_ttl, orders, to_be_paid, entries };
        eval(&mut self.connection, &SETTLED, &call.keys(&self.keys), &call.args()).await.map(drop)
    }

    /// Trims what is acknowledged.
    pub(crate) async fn trim(&mut self) -> Result<i64, RedisError> {
        let keys = [self.keys.orders(self.partition)];
        let reply = eval(&mut self.connection, &TRIM, &keys, &[]).await?;
        Ok(i64::from_redis_value(reply)?)
    }
}

fn entries(list: Value) -> Result<Vec<Entry>, RedisError> {
    let raw = Vec::<(String, Option<HashMap<String, String>>)>::from_redis_value(list)?;
    Ok(raw.into_iter().map(|(id, fields)| Entry { id, fields }).collect())
}
