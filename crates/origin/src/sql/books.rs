//! What SQL holds of a partition at one moment, as reconciliation and recovery read it.

use std::collections::{HashMap, HashSet};

#[cfg(test)]
use sea_orm::ConnectionTrait as _;
#[cfg(not(test))]
use sea_orm::TransactionTrait as _;
use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ColumnTrait as _, DbBackend, DbErr, EntityTrait as _, IsolationLevel, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
};
use sluice::model::{Millis, Partition};

use super::entity::{dead_letter, inventory, order, outbox, partition, sale};
use super::outbox::Task;
use super::sales::{Listed, listed};
use super::seam::{Pool, Tx};
use super::{Sql, WORK, int};
use crate::domain::order::{Placed, status};
use crate::domain::sale::Status;

/// Values that one statement compares with.
const PAGE: usize = 1_000;

/// Stock that Redis has not been told of yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    /// Id of its marker in Redis.
    pub(crate) marker: String,
    pub(crate) units: i64,
}

/// What SQL holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    /// The highest settled `seq`.
    pub(crate) seq: u64,
    /// Sales that are in Redis: open or paused.
    pub(crate) sales: Vec<Listed>,
    /// By SKU.
    pub(crate) owed: HashMap<String, Vec<Owed>>,
    /// Of the orders that were asked about, those whose units SQL has accounted for: settled, or to be given back.
    pub(crate) accounted: HashSet<String>,
}

/// An order that recovery puts back into Redis.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) id: String,
    pub(crate) request_id: String,
    pub(crate) user: String,
    pub(crate) quantity: i32,
    pub(crate) status: String,
    pub(crate) pay_by: i64,
    pub(crate) created_at: i64,
}

impl Sql {
    /// Reads everything in one snapshot.
    pub(crate) async fn books(&self, p: Partition, in_stream: &[Placed]) -> anyhow::Result<Books> {
        self.within(WORK, async {
            let tx = snapshot(&self.reader()).await?;
            let mut books = read(&tx, p).await?;
            for page in in_stream.chunks(PAGE) {
                let ids = page.iter().map(|placed| placed.order.as_str());
                let select = order::Entity::find().select_only().column(order::Column::Id);
                let found: Vec<String> = select.filter(order::Column::Id.is_in(ids)).into_tuple().all(&tx).await?;
                books.accounted.extend(found);
                let keys = page.iter().map(|placed| format!("restore:{}", placed.order));
                let select = outbox::Entity::find().select_only().column(outbox::Column::DedupeKey);
                let found: Vec<String> =
                    select.filter(outbox::Column::DedupeKey.is_in(keys)).into_tuple().all(&tx).await?;
                books.accounted.extend(found.iter().filter_map(|key| key.strip_prefix("restore:")).map(str::to_owned));
            }
            Ok(books)
        })
        .await
    }

    /// Raises a partition's epoch, so that no batch which was read before is committed any more, and reads what is left
    /// in the same transaction: the books, and by SKU the orders that Redis must know of.
    pub(crate) async fn new_epoch(
        &self,
        p: Partition,
        remembered_from: Millis,
    ) -> anyhow::Result<(Books, HashMap<String, Vec<Kept>>)> {
        self.within(WORK, async {
            let tx = snapshot(&self.writer()).await?;
            let raise = partition::Entity::update_many()
                .col_expr(partition::Column::Epoch, Expr::col(partition::Column::Epoch).add(1))
                .filter(partition::Column::Id.eq(i32::from(p.0)));
            raise.exec(&tx).await?;
            let books = read(&tx, p).await?;
            let mut kept = HashMap::new();
            for listed in &books.sales {
                kept.insert(listed.sale.sku.to_string(), kept_of(&tx, listed, remembered_from).await?);
            }
            tx.commit().await?;
            Ok((books, kept))
        })
        .await
    }

    /// How many of the numbers `from` to `to` no order and no dead letter of the partition has.
    pub(crate) async fn missing_seqs(&self, p: Partition, from: u64, to: u64) -> Result<u64, DbErr> {
        if from > to {
            return Ok(0);
        }
        self.within(WORK, async {
            let select = order::Entity::find().select_only().column_as(order::Column::Seq.count(), "n");
            let orders: Option<i64> = select
                .filter(order::Column::Partition.eq(i32::from(p.0)))
                .filter(order::Column::Seq.between(int(from), int(to)))
                .into_tuple()
                .one(&self.reader())
                .await?;
            let letters = dead_letter::Entity::find().filter(dead_letter::Column::Partition.eq(i32::from(p.0)));
            let letters = letters.all(&self.reader()).await?;
            let dead = letters.iter().filter_map(|row| {
                let fields: HashMap<String, String> = serde_json::from_str(&row.payload).ok()?;
                fields.get("seq")?.parse::<u64>().ok()
            });
            let dead = dead.filter(|seq| (from..=to).contains(seq)).count() as u64;
            let known = u64::try_from(orders.unwrap_or(0)).unwrap_or(0).saturating_add(dead);
            Ok((to - from + 1).saturating_sub(known))
        })
        .await
    }
}

/// A transaction in which every statement sees the same moment.
async fn snapshot(pool: &Pool) -> Result<Tx, DbErr> {
    if pool.get_database_backend() == DbBackend::Sqlite {
        // There every transaction is one.
        return pool.begin().await;
    }
    pool.begin_with_config(Some(IsolationLevel::RepeatableRead), None).await
}

async fn read(tx: &Tx, p: Partition) -> anyhow::Result<Books> {
    let row = partition::Entity::find_by_id(i32::from(p.0)).one(tx).await?;
    let mut books = Books { seq: row.map_or(0, |row| u64::try_from(row.seq).unwrap_or(0)), ..Books::default() };
    let live = [Status::Open.as_str(), Status::Paused.as_str()];
    let rows = sale::Entity::find()
        .filter(sale::Column::Partition.eq(i32::from(p.0)))
        .filter(sale::Column::Status.is_in(live))
        .order_by_asc(sale::Column::Sku);
    for row in rows.all(tx).await? {
        let inventory = inventory::Entity::find_by_id(row.sku.as_str()).one(tx).await?;
        books.sales.push(listed(row, inventory)?);
    }
    let open = outbox::Entity::find().filter(outbox::Column::DoneAt.is_null());
    let open = open.filter(outbox::Column::Kind.is_in(["restore", "restock"])).all(tx).await?;
    for task in open.iter().filter_map(|row| serde_json::from_str(&row.payload).ok()) {
        let (sku, marker, units) = match task {
            Task::Restore { order, sku, quantity, .. } => (sku, order, quantity),
            Task::Restock { restock, sku, units } => (sku, restock, units),
            Task::Terms { .. } | Task::Product { .. } | Task::Event(_) => continue,
        };
        books.owed.entry(sku).or_default().push(Owed { marker, units: units.into() });
    }
    Ok(books)
}

/// The orders of a sale that count against a quota, or whose operation may still be repeated.
async fn kept_of(tx: &Tx, listed: &Listed, remembered_from: Millis) -> Result<Vec<Kept>, DbErr> {
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let page = order::Entity::find()
            .filter(order::Column::Sku.eq(listed.sale.sku.as_str()))
            .filter(order::Column::Id.gt(after.as_str()))
            .order_by_asc(order::Column::Id)
            .limit(PAGE as u64)
            .all(tx)
            .await?;
        let Some(last) = page.last() else { return Ok(all) };
        after.clone_from(&last.id);
        let counts = |row: &order::Model| match row.status.as_str() {
            status::FAILED => false,
            status::CANCELLED => !listed.sale.rebuy,
            _ => true,
        };
        let remembered = int(remembered_from.0);
        all.extend(page.into_iter().filter(|row| counts(row) || row.created_at >= remembered).map(|row| Kept {
            id: row.id,
            request_id: row.request_id,
            user: row.user_id,
            quantity: row.quantity,
            status: row.status,
            pay_by: row.pay_by,
            created_at: row.created_at,
        }));
    }
}
