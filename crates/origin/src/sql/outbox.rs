//! The outbox: what a transaction has decided and Redis must still be told, at least once.

use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ActiveValue::NotSet, ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _,
    QueryFilter as _, QueryOrder as _, QuerySelect as _,
};
use serde::{Deserialize, Serialize};
use sluice::model::Millis;

use super::entity::outbox::{ActiveModel, Column, Entity};
use super::{Sql, WORK, int, or_nothing};

/// Something Redis must be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Task {
    /// Give an order's stock back.
    Restore {
        order: String,
        sku: String,
        user: String,
        quantity: u32,
        /// What Redis then says of the order.
        state: String,
    },
    /// Carry a sale's terms over, as they are in SQL by then.
    Terms { sku: String, version: i64 },
}

impl Task {
    /// A task whose key is there already is the same task.
    fn dedupe_key(&self) -> String {
        match self {
            Self::Restore { order, .. } => format!("restore:{order}"),
            Self::Terms { sku, version } => format!("terms:{sku}:{version}"),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Restore { .. } => "restore",
            Self::Terms { .. } => "terms",
        }
    }
}

/// A task that is still to be done.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) id: i64,
    pub(crate) attempts: i32,
    /// `None` when the row is not readable.
    pub(crate) task: Option<Task>,
}

/// Adds tasks to the transaction that decided them.
pub(super) async fn add(tx: &impl ConnectionTrait, tasks: &[Task], now: Millis) -> Result<(), DbErr> {
    if tasks.is_empty() {
        return Ok(());
    }
    let rows = tasks.iter().map(|task| ActiveModel {
        id: NotSet,
        dedupe_key: Set(task.dedupe_key()),
        kind: Set(task.kind().to_owned()),
        // A struct of texts and numbers always serialises.
        payload: Set(serde_json::to_string(task).unwrap_or_default()),
        attempts: Set(0),
        next_at: Set(int(now.0)),
        done_at: Set(None),
        created_at: Set(int(now.0)),
    });
    Entity::insert_many(rows).on_conflict(or_nothing(Column::Id)).exec_without_returning(tx).await.map(drop)
}

impl Sql {
    /// The oldest tasks that are due.
    pub(crate) async fn open_tasks(&self, now: Millis, most: u64) -> Result<Vec<Open>, DbErr> {
        self.within(WORK, async {
            let rows = Entity::find()
                .filter(Column::DoneAt.is_null())
                .filter(Column::NextAt.lte(int(now.0)))
                .order_by_asc(Column::Id)
                .limit(most)
                .all(&self.reader())
                .await?;
            let open = |row: super::entity::outbox::Model| Open {
                id: row.id,
                attempts: row.attempts,
                task: serde_json::from_str(&row.payload).ok(),
            };
            Ok(rows.into_iter().map(open).collect())
        })
        .await
    }

    /// A task is done.
    pub(crate) async fn task_done(&self, id: i64, now: Millis) -> Result<(), DbErr> {
        self.within(WORK, async {
            let update = Entity::update_many().col_expr(Column::DoneAt, Expr::val(Some(int(now.0))));
            update.filter(Column::Id.eq(id)).exec(&self.writer()).await.map(drop)
        })
        .await
    }

    /// A task could not be done; it is tried again at `next`.
    pub(crate) async fn task_failed(&self, id: i64, next: Millis) -> Result<(), DbErr> {
        self.within(WORK, async {
            let update = Entity::update_many()
                .col_expr(Column::Attempts, Expr::col(Column::Attempts).add(1))
                .col_expr(Column::NextAt, Expr::val(int(next.0)));
            update.filter(Column::Id.eq(id)).exec(&self.writer()).await.map(drop)
        })
        .await
    }
}
