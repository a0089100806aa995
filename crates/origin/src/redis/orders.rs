//! Orders in Redis: taken by `deduct.lua`, given back by `restore.lua`, and looked up until SQL has them.

use std::collections::HashMap;

use sluice::model::{Millis, OrderId, Partition, Sku, User};
use sluice::script::deduct::{self, Answers, Deduct, Reply};
use sluice::script::due;
use sluice::script::keys::Keyspace;
use sluice::script::restore::{self, Restore, Restored};

use super::RedisFault;
use super::link::Link;
use crate::domain::order::status;
use crate::sql::orders::View;

/// What Redis says of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) view: View,
    pub(crate) user: String,
}

impl Known {
    /// Whether only Redis has it.
    pub(crate) fn is_queued(&self) -> bool {
        self.view.status == status::QUEUED
    }

    fn read(id: &OrderId, mut fields: HashMap<String, String>) -> Option<Self> {
        let user = fields.remove("user")?;
        let quantity: i64 = fields.get("quantity")?.parse().ok()?;
        let price: i64 = fields.get("price")?.parse().ok()?;
        Some(Self {
            user,
            view: View {
                order_id: id.to_string(),
                sku: fields.remove("sku")?,
                quantity,
                amount: price.checked_mul(quantity)?,
                status: fields.remove("state")?,
                created_at: fields.get("at")?.parse().ok()?,
                pay_by: None,
            },
        })
    }
}

impl Link {
    /// Takes stock for one order.
    pub(crate) async fn deduct(
        &self,
        keys: &Keyspace,
        call: &Deduct<'_>,
        answers: &Answers,
    ) -> Result<Reply, RedisFault> {
        let reply =
            self.eval(keys.partition_of(call.sku), &deduct::SCRIPT, &call.keys(keys), &call.args(answers)).await?;
        let reply = deduct::parse(reply)?;
        self.saw_seq(keys.partition_of(call.sku), reply.seq);
        Ok(reply)
    }

    /// Gives an order's stock back.
    pub(crate) async fn restore(&self, keys: &Keyspace, call: &Restore<'_>) -> Result<Restored, RedisFault> {
        let reply = self.eval(keys.partition_of(call.sku), &restore::SCRIPT, &call.keys(keys), &call.args()).await?;
        Ok(restore::parse(&reply)?)
    }

    /// An order, while Redis remembers it.
    pub(crate) async fn order(&self, keys: &Keyspace, id: &OrderId) -> Result<Option<Known>, RedisFault> {
        let fields = self.command(id.partition(), ::redis::cmd("HGETALL").arg(keys.order(id))).await?;
        Ok(Known::read(id, fields))
    }

    /// Takes orders whose time to pay is over, for a lease.
    pub(crate) async fn overdue(
        &self,
        keys: &Keyspace,
        partition: Partition,
        lease: Millis,
        most: u64,
    ) -> Result<Vec<OrderId>, RedisFault> {
        Ok(due::parse(self.eval(partition, &due::SCRIPT, &[keys.due(partition)], &due::args(lease, most)).await?)?)
    }

    /// An order is no longer to be paid.
    pub(crate) async fn not_due(&self, keys: &Keyspace, id: &OrderId) -> Result<(), RedisFault> {
        self.command(id.partition(), ::redis::cmd("ZREM").arg(keys.due(id.partition())).arg(id.as_str())).await
    }

    /// The ids of a user's orders that Redis counts against the quota.
    pub(crate) async fn orders_of(&self, keys: &Keyspace, sku: &Sku, user: &User) -> Result<Vec<OrderId>, RedisFault> {
        let list: Option<String> =
            self.command(keys.partition_of(sku), ::redis::cmd("HGET").arg(keys.buyers(sku)).arg(user.as_str())).await?;
        let list = list.unwrap_or_default();
        let ids = list.split(',').filter_map(|entry| entry.split_once(':')).map(|(id, _)| OrderId::parse(id));
        Ok(ids.flatten().collect())
    }
}
