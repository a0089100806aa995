//! Reads Redis and SQL directly, once everything that was accepted has been settled.

use super::books::{Books, Entry, Order};
use super::tally::Tally;
use super::target::Target;
use crate::clock;
use crate::console::Step;
use anyhow::{Context, Result, bail};
use redis::aio::MultiplexedConnection;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, QueryResult, Statement};
use sluice::model::Sku;
use sluice::script::keys::Keyspace;
use std::time::Duration;

/// How long settling may take after the last click.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

/// Waits until nothing is under way between Redis and SQL, then reads both.
pub(super) async fn when_settled(target: &Target, sku: &str, tally: &Tally) -> Result<Books> {
    let step = Step::start("waiting until every order is settled");
    let auditor = Auditor::new(target, sku).await?;
    let deadline = clock::now() + SETTLE_LIMIT;
    let mut before = None;
    loop {
        let waiting = auditor.waiting().await?;
        let books = auditor.books().await?;
        // Twice the same, with nothing waiting in between: nothing is on its way any more.
        if waiting == 0 && before.as_ref() == Some(&books) {
            step.done(&format!("{} orders", books.orders.len()));
            return Ok(books);
        }
        if clock::now() >= deadline {
            let (settled, told) = (books.orders.len(), tally.orders.len());
            bail!("after {SETTLE_LIMIT:?} {waiting} orders still wait in the stream; {settled} of {told} are settled");
        }
        before = (waiting == 0).then_some(books);
        tokio::time::sleep(clock::POLL * 10).await;
    }
}

struct Auditor {
    redis: MultiplexedConnection,
    sql: DatabaseConnection,
    keys: Keyspace,
    sku: Sku,
}

impl Auditor {
    async fn new(target: &Target, sku: &str) -> Result<Self> {
        let redis = redis::Client::open(target.redis())?.get_multiplexed_async_connection().await;
        Ok(Self {
            redis: redis.context("cannot reach Redis")?,
            sql: Database::connect(target.database()).await.context("cannot reach SQL")?,
            keys: Keyspace::default(),
            sku: Sku::parse(sku)?,
        })
    }

    /// Entries that some consumer group has not read or not acknowledged.
    async fn waiting(&self) -> Result<u64> {
        let stream = self.keys.orders(self.keys.partition_of(&self.sku));
        let mut redis = self.redis.clone();
        let info: redis::streams::StreamInfoGroupsReply =
            redis::cmd("XINFO").arg("GROUPS").arg(&stream).query_async(&mut redis).await?;
        let groups = info.groups.iter();
        // A lag that Redis cannot tell (after a trim) is seen by the books not standing still.
        Ok(groups.map(|group| group.pending + group.lag.unwrap_or(0)).sum::<usize>() as u64)
    }

    async fn books(&self) -> Result<Books> {
        let mut redis = self.redis.clone();
        let stock: Option<i64> = redis::cmd("GET").arg(self.keys.stock(&self.sku)).query_async(&mut redis).await?;
        let buyers: Vec<String> = redis::cmd("HKEYS").arg(self.keys.buyers(&self.sku)).query_async(&mut redis).await?;
        let inventory = self.rows("SELECT stock, initial FROM inventory WHERE sku = ?").await?;
        let inventory = inventory.first().context("the sale has no row in `inventory`")?;
        let orders = "SELECT id, user_id, quantity FROM orders WHERE sku = ? AND status <> 'failed'";
        let ledger = "SELECT before_stock, after_stock FROM inventory_log WHERE sku = ? ORDER BY id";
        Ok(Books {
            redis_stock: stock.context("the sale has no stock in Redis")?,
            redis_buyers: buyers.into_iter().collect(),
            sql_stock: inventory.try_get("", "stock")?,
            sql_initial: inventory.try_get("", "initial")?,
            orders: self.rows(orders).await?.iter().map(order).collect::<Result<_>>()?,
            ledger: self.rows(ledger).await?.iter().map(entry).collect::<Result<_>>()?,
        })
    }

    async fn rows(&self, sql: &str) -> Result<Vec<QueryResult>> {
        let backend = self.sql.get_database_backend();
        let statement = Statement::from_sql_and_values(backend, sql, [self.sku.as_str().into()]);
        Ok(self.sql.query_all_raw(statement).await?)
    }
}

fn order(row: &QueryResult) -> Result<Order> {
    Ok(Order { id: row.try_get("", "id")?, user: row.try_get("", "user_id")?, quantity: row.try_get("", "quantity")? })
}

fn entry(row: &QueryResult) -> Result<Entry> {
    Ok(Entry { before: row.try_get("", "before_stock")?, after: row.try_get("", "after_stock")? })
}
