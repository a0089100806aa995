//! Reads Redis and SQL directly, and waits until nothing is under way between them.

use super::books::{Books, Entry, Order, Payment};
use crate::clock;
use anyhow::{Context, Result, bail};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue, Value};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, QueryResult, Statement};
use sluice::model::{Partition, Sku};
use sluice::script::keys::Keyspace;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Eyes into both stores, beside the origin's.
#[derive(Debug)]
pub struct Auditor {
    redis: redis::Client,
    sql: DatabaseConnection,
    keys: Keyspace,
    sku: Sku,
}

impl Auditor {
    /// For one sale. Redis is connected to anew for each look, for it may have been gone in between.
    ///
    /// # Errors
    /// When SQL cannot be reached.
    pub async fn new(redis: &str, database: &str, keys: Keyspace, sku: &str) -> Result<Self> {
        let mut options = ConnectOptions::new(database);
        options.max_connections(2).sqlx_logging(false);
        Ok(Self {
            redis: redis::Client::open(redis)?,
            sql: Database::connect(options).await.context("cannot reach SQL")?,
            keys,
            sku: Sku::parse(sku)?,
        })
    }

    /// Waits until the books are at rest and stand still.
    ///
    /// # Errors
    /// When they do not within `limit`; the message says what still moves.
    pub async fn at_rest(&self, limit: Duration) -> Result<Books> {
        let deadline = clock::now() + limit;
        let mut before = None;
        loop {
            let seen = match self.books().await {
                Ok(books) if books.at_rest() => {
                    if before.as_ref() == Some(&books) {
                        return Ok(books);
                    }
                    before = Some(books);
                    String::new()
                }
                Ok(Books { waiting, outbox, overdue, .. }) => {
                    before = None;
                    format!("{waiting} entries in the stream, {outbox} in the outbox, {overdue} orders overdue")
                }
                Err(error) => format!("{error:#}"),
            };
            if clock::now() >= deadline {
                bail!("no rest after {}: {seen}", clock::human(limit));
            }
            tokio::time::sleep(clock::POLL).await;
        }
    }

    /// The books as they are now.
    ///
    /// # Errors
    /// When a store does not answer.
    pub async fn books(&self) -> Result<Books> {
        let (redis_stock, buyers, waiting) = self.in_redis().await?;
        let sku = &self.sku;
        let inventory = self.rows(&format!("SELECT initial, stock FROM inventory WHERE sku = '{sku}'")).await?;
        let inventory = inventory.first().context("the sale has no row in `inventory`")?;
        let sale = self.rows(&format!("SELECT status FROM sales WHERE sku = '{sku}'")).await?;
        let orders = format!(
            "SELECT id, request_id, user_id, quantity, status, seq FROM orders WHERE sku = '{sku}' ORDER BY id"
        );
        let ledger = "SELECT before_stock, quantity, after_stock FROM inventory_log";
        let overdue =
            format!("SELECT COUNT(*) FROM orders WHERE status = 'pending_payment' AND pay_by <= {}", clock::unix_ms());
        Ok(Books {
            initial: number(inventory, 0)?,
            sql_stock: number(inventory, 1)?,
            sale: sale.first().context("no such sale")?.try_get_by_index(0)?,
            orders: self.rows(&orders).await?.iter().map(order).collect::<Result<_>>()?,
            dead: self.texts("SELECT request_id FROM dead_letters").await?,
            ledger: self
                .rows(&format!("{ledger} WHERE sku = '{sku}' ORDER BY id"))
                .await?
                .iter()
                .map(|row| Ok(Entry { before: number(row, 0)?, quantity: number(row, 1)?, after: number(row, 2)? }))
                .collect::<Result<_>>()?,
            payments: self
                .rows("SELECT payment_no, order_id, status FROM payments ORDER BY payment_no")
                .await?
                .iter()
                .map(|row| Ok(Payment { number: text(row, 0)?, order: text(row, 1)?, status: text(row, 2)? }))
                .collect::<Result<_>>()?,
            outbox: self.count("SELECT COUNT(*) FROM outbox WHERE done_at IS NULL").await?,
            overdue: self.count(&overdue).await?,
            redis_stock,
            buyers,
            waiting,
        })
    }

    /// Ids of the orders that the stream holds, with their numbers, and of those that SQL has.
    ///
    /// # Errors
    /// When a store does not answer.
    pub async fn before_a_loss(&self) -> Result<(BTreeMap<String, u64>, Vec<String>)> {
        let mut redis = self.connect().await?;
        let entries: Vec<(String, HashMap<String, String>)> = redis::cmd("XRANGE")
            .arg(self.keys.orders(self.partition()))
            .arg("-")
            .arg("+")
            .query_async(&mut redis)
            .await?;
        let numbered = entries
            .into_iter()
            .filter_map(|(_, mut fields)| Some((fields.remove("order")?, fields.get("seq")?.parse().ok()?)));
        Ok((numbered.collect(), self.texts("SELECT id FROM orders").await?))
    }

    /// Closes the connections to SQL.
    pub async fn close(self) {
        let _ = self.sql.close().await;
    }

    fn partition(&self) -> Partition {
        self.keys.partition_of(&self.sku)
    }

    async fn connect(&self) -> Result<MultiplexedConnection> {
        connect(&self.redis).await
    }

    async fn in_redis(&self) -> Result<(Option<i64>, BTreeMap<String, BTreeMap<String, i64>>, u64)> {
        let mut redis = self.connect().await?;
        let stock: Option<i64> = redis::cmd("GET").arg(self.keys.stock(&self.sku)).query_async(&mut redis).await?;
        let lists: BTreeMap<String, String> =
            redis::cmd("HGETALL").arg(self.keys.buyers(&self.sku)).query_async(&mut redis).await?;
        let units = |entry: &str| {
            let (id, units) = entry.split_once(':')?;
            Some((id.to_owned(), units.parse().ok()?))
        };
        let buyers =
            lists.into_iter().map(|(user, list)| (user, list.split(',').filter_map(units).collect())).collect();
        let stream = self.keys.orders(self.partition());
        if redis::cmd("EXISTS").arg(&stream).query_async::<i64>(&mut redis).await? == 0 {
            return Ok((stock, buyers, 0));
        }
        let info: HashMap<String, Value> =
            redis::cmd("XINFO").arg("STREAM").arg(&stream).query_async(&mut redis).await?;
        let groups: Vec<HashMap<String, Value>> =
            redis::cmd("XINFO").arg("GROUPS").arg(&stream).query_async(&mut redis).await?;
        // A stream without its group has everything still to deliver.
        let Some(group) = groups.first() else { return Ok((stock, buyers, 1)) };
        let pending: u64 = group.get("pending").and_then(|n| u64::from_redis_value(n.clone()).ok()).unwrap_or(1);
        let delivered = group.get("last-delivered-id") == info.get("last-generated-id");
        Ok((stock, buyers, pending + u64::from(!delivered)))
    }

    async fn rows(&self, sql: &str) -> Result<Vec<QueryResult>> {
        Ok(self.sql.query_all_raw(Statement::from_string(self.sql.get_database_backend(), sql)).await?)
    }

    async fn texts(&self, sql: &str) -> Result<Vec<String>> {
        self.rows(sql).await?.iter().map(|row| text(row, 0)).collect()
    }

    async fn count(&self, sql: &str) -> Result<i64> {
        number(self.rows(sql).await?.first().context("no row")?, 0)
    }
}

/// A connection to Redis that is patient: one that waits for its disk is not away.
pub(super) async fn connect(redis: &redis::Client) -> Result<MultiplexedConnection> {
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));
    let config = AsyncConnectionConfig::new().set_connection_timeout(PATIENCE).set_response_timeout(PATIENCE);
    redis.get_multiplexed_async_connection_with_config(&config).await.context("cannot reach Redis")
}

fn order(row: &QueryResult) -> Result<Order> {
    let (id, op, user) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
    Ok(Order { id, op, user, quantity: number(row, 3)?, status: text(row, 4)?, seq: number(row, 5)? })
}

fn text(row: &QueryResult, at: usize) -> Result<String> {
    Ok(row.try_get_by_index(at)?)
}

/// The databases have columns of 32 and of 64 bits.
fn number(row: &QueryResult, at: usize) -> Result<i64> {
    Ok(row.try_get_by_index(at).or_else(|_| row.try_get_by_index::<i32>(at).map(i64::from))?)
}
