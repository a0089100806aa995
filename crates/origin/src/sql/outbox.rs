//! The outbox: what a transaction has decided and Redis, or other services, must still be told, at least once.

use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ActiveValue::NotSet, ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _,
    QueryFilter as _, QueryOrder as _, QuerySelect as _,
};
use serde::{Deserialize, Serialize};
use sluice::model::Millis;

use super::entity::order;
use super::entity::outbox::{ActiveModel, Column, Entity};
use super::{Sql, WORK, int, or_nothing};
use crate::domain::order::Placed;

/// Something that must be done after the transaction that decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Task {
    /// Give an order's stock back in Redis.
    Restore {
        order: String,
        sku: String,
        user: String,
        quantity: u32,
        /// What Redis then says of the order.
        state: String,
        /// Whether the order goes on counting against its buyer's quota.
        #[serde(default)]
        keeps_buyer: bool,
    },
    /// Carry a sale's terms over to Redis, as they are in SQL by then.
    Terms { sku: String, version: i64 },
    /// Add units to a sale in Redis.
    Restock { restock: String, sku: String, units: u32 },
    /// Have the caches forget what they have of a product, as of a version.
    Product { product: String, version: i64 },
    /// Tell the shop's other services.
    Event(Event),
}

/// What happened to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// `order.placed`, `order.paid`, `order.cancelled` or `payment.refund_due`.
    pub(crate) event: String,
    pub(crate) order_id: String,
    pub(crate) user_id: String,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    pub(crate) amount: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payment_no: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Event {
    /// An order was settled.
    pub(super) fn of(placed: &Placed) -> Self {
        Self {
            event: "order.placed".to_owned(),
            order_id: placed.order.to_string(),
            user_id: placed.user.to_string(),
            sku: placed.sku.to_string(),
            quantity: placed.quantity.into(),
            amount: placed.amount(),
            payment_no: None,
            reason: None,
        }
    }

    /// Something happened to an order that is in SQL.
    pub(super) fn about(event: &str, row: &order::Model, payment_no: Option<&str>, reason: Option<&str>) -> Self {
        Self {
            event: event.to_owned(),
            order_id: row.id.clone(),
            user_id: row.user_id.clone(),
            sku: row.sku.clone(),
            quantity: row.quantity.into(),
            amount: row.amount,
            payment_no: payment_no.map(str::to_owned),
            reason: reason.map(str::to_owned),
        }
    }

    /// The same event has the same key, so its receiver can tell a repeated delivery.
    pub(crate) fn key(&self) -> String {
        format!("{}:{}", self.event, self.payment_no.as_deref().unwrap_or(&self.order_id))
    }
}

/// Who carries a task out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Restore,
    Terms,
    Restock,
    Product,
    Event,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Restore => "restore",
            Self::Terms => "terms",
            Self::Restock => "restock",
            Self::Product => "product",
            Self::Event => "event",
        }
    }
}

impl Task {
    /// A task whose key is there already is the same task.
    fn dedupe_key(&self) -> String {
        match self {
            Self::Restore { order, .. } => format!("restore:{order}"),
            Self::Terms { sku, version } => format!("terms:{sku}:{version}"),
            Self::Restock { restock, .. } => format!("restock:{restock}"),
            Self::Product { product, version } => format!("product:{product}:{version}"),
            Self::Event(event) => event.key(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Restore { .. } => Kind::Restore,
            Self::Terms { .. } => Kind::Terms,
            Self::Restock { .. } => Kind::Restock,
            Self::Product { .. } => Kind::Product,
            Self::Event(_) => Kind::Event,
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
    add_later(tx, tasks, now, now).await
}

/// Adds tasks that are not to be done before `due`.
pub(super) async fn add_later(
    tx: &impl ConnectionTrait,
    tasks: &[Task],
    now: Millis,
    due: Millis,
) -> Result<(), DbErr> {
    if tasks.is_empty() {
        return Ok(());
    }
    let rows = tasks.iter().map(|task| ActiveModel {
        id: NotSet,
        dedupe_key: Set(task.dedupe_key()),
        kind: Set(task.kind().as_str().to_owned()),
        // A struct of texts and numbers always serialises.
        payload: Set(serde_json::to_string(task).unwrap_or_default()),
        attempts: Set(0),
        next_at: Set(int(due.0)),
        done_at: Set(None),
        created_at: Set(int(now.0)),
    });
    Entity::insert_many(rows).on_conflict(or_nothing(Column::Id)).exec_without_returning(tx).await.map(drop)
}

impl Sql {
    /// Adds events to the transaction that they are about, where somebody wants them.
    pub(super) async fn tell(
        &self,
        tx: &impl ConnectionTrait,
        events: impl Iterator<Item = Event>,
        now: Millis,
    ) -> Result<(), DbErr> {
        if !self.tells_events() {
            return Ok(());
        }
        let tasks: Vec<Task> = events.map(Task::Event).collect();
        add(tx, &tasks, now).await
    }

    /// The oldest tasks of some kinds that are due.
    pub(crate) async fn open_tasks(&self, kinds: &[Kind], now: Millis, most: u64) -> Result<Vec<Open>, DbErr> {
        self.within(WORK, async {
            let rows = Entity::find()
                .filter(Column::DoneAt.is_null())
                .filter(Column::Kind.is_in(kinds.iter().map(|kind| kind.as_str())))
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

    /// Whether the task of a key was done.
    pub(crate) async fn is_done(&self, key: &str) -> Result<bool, DbErr> {
        self.within(WORK, async {
            let found = Entity::find().filter(Column::DedupeKey.eq(key)).one(&self.reader()).await?;
            Ok(found.is_some_and(|row| row.done_at.is_some()))
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
