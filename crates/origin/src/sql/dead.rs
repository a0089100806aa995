//! Entries that fail alone: how often they did, and what becomes of them.

use sea_orm::sea_query::Expr;
use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};
use serde::Serialize;
use sluice::model::{Millis, Partition};

use super::entity::{dead_letter, order, settle_attempt};
use super::fault::SettleFault;
use super::settle::give_back;
use super::{ANSWER, Sql, WORK, int, or_nothing, outbox, partitions};
use crate::domain::order::{Placed, status};

/// An entry that is given up.
#[derive(Debug)]
pub(crate) struct Dead<'a> {
    pub(crate) entry: &'a str,
    /// Its fields as JSON.
    pub(crate) payload: String,
    /// What could be read of it; `None` when its stock cannot be given back, for nobody can tell whose it is.
    pub(crate) placed: Option<&'a Placed>,
    pub(crate) error: &'a str,
    pub(crate) attempts: i32,
}

impl Sql {
    /// Counts one more failure of an entry alone, and says how many there were.
    pub(crate) async fn failed_alone(
        &self,
        partition: Partition,
        entry: &str,
        error: &str,
        now: Millis,
    ) -> Result<i32, DbErr> {
        self.within(WORK, async {
            let id = (i32::from(partition.0), entry.to_owned());
            let before = settle_attempt::Entity::find_by_id(id.clone()).one(&self.reader()).await?;
            let attempts = before.map_or(0, |row| row.attempts).saturating_add(1);
            let tx = self.begin().await?;
            // Deleted and written anew, so that no dialect's upsert is needed.
            settle_attempt::Entity::delete_by_id(id.clone()).exec(&tx).await?;
            let row = settle_attempt::ActiveModel {
                partition: Set(id.0),
                entry_id: Set(id.1),
                attempts: Set(attempts),
                error: Set(short(error)),
                updated_at: Set(int(now.0)),
            };
            settle_attempt::Entity::insert_many([row]).exec_without_returning(&tx).await?;
            tx.commit().await?;
            Ok(attempts)
        })
        .await
    }

    /// Gives an entry up: the dead letter and the restore in one transaction, unless it was settled after all.
    /// The partition's lock makes settling and dying exclude each other.
    pub(crate) async fn bury(
        &self,
        partition: Partition,
        epoch: i64,
        dead: &Dead<'_>,
        now: Millis,
    ) -> Result<bool, SettleFault> {
        self.within(WORK, async {
            let tx = self.begin().await?;
            partitions::lock(&tx, partition, epoch, 0).await?;
            let request =
                dead.placed.map_or_else(|| format!("entry:{}:{}", partition.0, dead.entry), |p| p.op_id.clone());
            let settled = order::Entity::find().filter(order::Column::RequestId.eq(request.as_str())).one(&tx).await?;
            if settled.is_none() {
                let row = dead_letter::ActiveModel {
                    request_id: Set(request),
                    partition: Set(partition.0.into()),
                    entry_id: Set(dead.entry.to_owned()),
                    order_id: Set(dead.placed.map(|placed| placed.order.to_string())),
                    payload: Set(dead.payload.clone()),
                    error: Set(short(dead.error)),
                    attempts: Set(dead.attempts),
                    created_at: Set(int(now.0)),
                    retried_as: Set(None),
                    closed_at: Set(None),
                };
                let insert =
                    dead_letter::Entity::insert_many([row]).on_conflict(or_nothing(dead_letter::Column::RequestId));
                insert.exec_without_returning(&tx).await?;
                if let Some(placed) = dead.placed {
                    outbox::add(&tx, &[give_back(placed, status::FAILED.to_owned())], now).await?;
                }
            }
            let id = (i32::from(partition.0), dead.entry.to_owned());
            settle_attempt::Entity::delete_by_id(id).exec(&tx).await?;
            tx.commit().await?;
            Ok(settled.is_none())
        })
        .await
    }
}

/// A dead letter, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Letter {
    pub(crate) request_id: String,
    pub(crate) partition: i32,
    pub(crate) entry_id: String,
    pub(crate) order_id: Option<String>,
    pub(crate) error: String,
    pub(crate) attempts: i32,
    pub(crate) created_at: i64,
    pub(crate) retried_as: Option<String>,
    pub(crate) closed_at: Option<i64>,
    /// The entry's fields as JSON; it names its buyer, and is not told.
    #[serde(skip)]
    pub(crate) payload: String,
}

impl From<dead_letter::Model> for Letter {
    fn from(row: dead_letter::Model) -> Self {
        let dead_letter::Model {
            request_id,
            partition,
            entry_id,
            order_id,
            payload,
            error,
            attempts,
            created_at,
            retried_as,
            closed_at,
        } = row;
        Self { request_id, partition, entry_id, order_id, error, attempts, created_at, retried_as, closed_at, payload }
    }
}

impl Sql {
    /// Dead letters that nobody has dealt with, or all, the oldest first.
    pub(crate) async fn dead_letters(&self, all: bool) -> Result<Vec<Letter>, DbErr> {
        self.within(ANSWER, async {
            let mut select = dead_letter::Entity::find().order_by_asc(dead_letter::Column::CreatedAt);
            if !all {
                select = select.filter(dead_letter::Column::ClosedAt.is_null());
            }
            Ok(select.limit(10_000).all(&self.reader()).await?.into_iter().map(Letter::from).collect())
        })
        .await
    }

    /// One of them.
    pub(crate) async fn dead_letter(&self, request: &str) -> Result<Option<Letter>, DbErr> {
        self.within(ANSWER, async {
            Ok(dead_letter::Entity::find_by_id(request).one(&self.reader()).await?.map(Letter::from))
        })
        .await
    }

    /// Notes that it was retried, or dropped where there is no order. `false` when it was dealt with before.
    pub(crate) async fn close_letter(&self, request: &str, order: Option<&str>, now: Millis) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let update = dead_letter::Entity::update_many()
                .col_expr(dead_letter::Column::RetriedAs, Expr::val(order.map(str::to_owned)))
                .col_expr(dead_letter::Column::ClosedAt, Expr::val(Some(int(now.0))))
                .filter(dead_letter::Column::RequestId.eq(request))
                .filter(dead_letter::Column::ClosedAt.is_null());
            Ok(update.exec(&self.writer()).await?.rows_affected == 1)
        })
        .await
    }
}

/// An error's text, no longer than its column.
fn short(error: &str) -> String {
    error.chars().take(500).collect()
}
