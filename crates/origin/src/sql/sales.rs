//! Sales: created with their inventory and the first row of its ledger, read, and changed.

use anyhow::{Context as _, bail};
use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ActiveModelTrait as _, ActiveValue::NotSet, ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DbErr,
    EntityTrait as _, QueryFilter as _, QueryOrder as _,
};
use sluice::model::{Millis, Partition, Sku};
use sluice::script::preheat::Terms;

use super::entity::{inventory, inventory_log, sale};
use super::outbox::{self, Task};
use super::stock::{self, Change};
use super::{ANSWER, Sql, WORK, int, or_nothing};
use crate::domain::ledger::{self, Kind};
use crate::domain::sale::{Sale, Status};

/// Where stock is kept; there is one place only.
pub(super) const WAREHOUSE: &str = "main";

/// A sale with what SQL has left of it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) sale: Sale,
    pub(crate) partition: Partition,
    pub(crate) stock: i64,
    pub(crate) initial: i64,
}

impl Sql {
    /// Creates a sale, scheduled. `false` when there is one of that SKU already, which stays as it is.
    pub(crate) async fn create_sale(&self, sale: &Sale, p: Partition, stock: u64, now: Millis) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            let terms = &sale.terms;
            let row = sale::ActiveModel {
                sku: Set(sale.sku.as_str().to_owned()),
                title: Set(sale.title.clone()),
                price: Set(int(terms.price)),
                currency: Set(sale.currency.clone()),
                per_user: Set(i32::try_from(terms.per_user).unwrap_or(i32::MAX)),
                starts_at: Set(int(terms.starts_at.0)),
                ends_at: Set(int(terms.ends_at.0)),
                status: Set(Status::Scheduled.as_str().to_owned()),
                version: Set(int(terms.version)),
                partition: Set(p.0.into()),
                created_at: Set(int(now.0)),
                pay_within: Set(int(sale.pay_within.0)),
                rebuy: Set(sale.rebuy),
            };
            let insert = sale::Entity::insert_many([row]).on_conflict(or_nothing(sale::Column::Sku));
            insert.exec_without_returning(&tx).await?;
            let stock = int(stock);
            let inventory = inventory::ActiveModel {
                sku: Set(sale.sku.as_str().to_owned()),
                stock: Set(stock),
                initial: Set(stock),
            };
            let taken = inventory::Entity::find_by_id(sale.sku.as_str()).one(&tx).await?.is_some();
            if taken {
                return Ok(false);
            }
            inventory.insert(&tx).await?;
            let first = inventory_log::ActiveModel {
                id: NotSet,
                log_no: Set(ledger::number(Kind::Initial, now, sale.sku.as_str())),
                sku: Set(sale.sku.as_str().to_owned()),
                warehouse: Set(WAREHOUSE.to_owned()),
                kind: Set(Kind::Initial.as_str().to_owned()),
                quantity: Set(stock),
                before_stock: Set(0),
                after_stock: Set(stock),
                order_id: Set(None),
                operator: Set("sluice-origin sale create".to_owned()),
                remark: Set(String::new()),
                created_at: Set(int(now.0)),
            };
            inventory_log::Entity::insert_many([first]).exec_without_returning(&tx).await?;
            tx.commit().await?;
            Ok(true)
        })
        .await
    }

    /// One sale.
    pub(crate) async fn sale(&self, sku: &Sku) -> anyhow::Result<Option<Listed>> {
        self.within(ANSWER, async {
            let found = sale::Entity::find_by_id(sku.as_str()).one(&self.reader()).await?;
            let Some(row) = found else { return Ok(None) };
            let inventory = inventory::Entity::find_by_id(sku.as_str()).one(&self.reader()).await?;
            listed(row, inventory).map(Some)
        })
        .await
    }

    /// All sales, the newest first.
    pub(crate) async fn sales(&self) -> anyhow::Result<Vec<Listed>> {
        self.within(ANSWER, async {
            let rows = sale::Entity::find().order_by_desc(sale::Column::CreatedAt).order_by_asc(sale::Column::Sku);
            let mut stock: std::collections::HashMap<String, inventory::Model> = inventory::Entity::find()
                .all(&self.reader())
                .await?
                .into_iter()
                .map(|row| (row.sku.clone(), row))
                .collect();
            let rows = rows.all(&self.reader()).await?;
            rows.into_iter()
                .map(|row| {
                    let stock = stock.remove(&row.sku);
                    listed(row, stock)
                })
                .collect()
        })
        .await
    }

    /// Sales that were never in Redis.
    pub(crate) async fn scheduled_sales(&self) -> anyhow::Result<Vec<Listed>> {
        self.within(WORK, async {
            let status = sale::Column::Status.eq(Status::Scheduled.as_str());
            let rows = sale::Entity::find().filter(status).all(&self.reader()).await?;
            let mut all = Vec::with_capacity(rows.len());
            for row in rows {
                let inventory = inventory::Entity::find_by_id(row.sku.as_str()).one(&self.reader()).await?;
                all.push(listed(row, inventory)?);
            }
            Ok(all)
        })
        .await
    }

    /// Scheduled -> open, once Redis has it.
    pub(crate) async fn sale_opened(&self, sku: &Sku) -> Result<(), DbErr> {
        self.within(WORK, async {
            let update = sale::Entity::update_many()
                .col_expr(sale::Column::Status, Expr::val(Status::Open.as_str()))
                .filter(sale::Column::Sku.eq(sku.as_str()))
                .filter(sale::Column::Status.eq(Status::Scheduled.as_str()));
            update.exec(&self.writer()).await.map(drop)
        })
        .await
    }

    /// From one status to another, with the task to tell Redis. `false` when it is not in `from`.
    pub(crate) async fn change_status(&self, sku: &Sku, from: Status, to: Status, now: Millis) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            let changed = change_status(&tx, sku.as_str(), from, to, now).await?;
            tx.commit().await?;
            Ok(changed)
        })
        .await
    }

    /// Changes a sale's terms as `change` says, unless it is closed. `None` when there is no such sale, or it is closed.
    pub(crate) async fn change_terms(
        &self,
        sku: &Sku,
        change: impl Fn(&mut sale::Model),
        now: Millis,
    ) -> anyhow::Result<bool> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            // Locks the row, so that what is read next is what is changed.
            let bump = sale::Entity::update_many()
                .col_expr(sale::Column::Version, Expr::col(sale::Column::Version).add(1))
                .filter(sale::Column::Sku.eq(sku.as_str()))
                .filter(sale::Column::Status.ne(Status::Closed.as_str()));
            if bump.exec(&tx).await?.rows_affected == 0 {
                return Ok(false);
            }
            let row = sale::Entity::find_by_id(sku.as_str()).one(&tx).await?;
            let mut row = row.context("the sale has vanished")?;
            change(&mut row);
            anyhow::ensure!(
                row.status == Status::Closed.as_str() || row.ends_at > row.starts_at,
                "it would end before it starts"
            );
            let update = sale::Entity::update_many()
                .col_expr(sale::Column::StartsAt, Expr::val(row.starts_at))
                .col_expr(sale::Column::EndsAt, Expr::val(row.ends_at))
                .col_expr(sale::Column::Price, Expr::val(row.price))
                .col_expr(sale::Column::PerUser, Expr::val(row.per_user))
                .col_expr(sale::Column::Status, Expr::val(row.status))
                .filter(sale::Column::Sku.eq(sku.as_str()));
            update.exec(&tx).await?;
            outbox::add(&tx, &[Task::Terms { sku: sku.to_string(), version: row.version }], now).await?;
            tx.commit().await?;
            Ok(true)
        })
        .await
    }

    /// Closes a sale for good: it ends now, or never began. `false` when there is none, or it is closed.
    pub(crate) async fn close_sale(&self, sku: &Sku, now: Millis) -> anyhow::Result<bool> {
        let at = int(now.0);
        let close = |row: &mut sale::Model| {
            row.status = Status::Closed.as_str().to_owned();
            row.ends_at = Ord::min(row.ends_at, at);
            row.starts_at = Ord::min(row.starts_at, row.ends_at);
        };
        self.change_terms(sku, close, now).await
    }

    /// Adds units to a sale that is in Redis, with the task to add them there. `id` is made up for this restock.
    /// `false` when the sale is not open or paused.
    pub(crate) async fn restock(
        &self,
        sku: &Sku,
        units: u32,
        id: &str,
        remark: &str,
        now: Millis,
    ) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            let change = Change {
                sku: sku.as_str(),
                units: units.into(),
                kind: Kind::Restock,
                about: id,
                order: None,
                operator: "restock",
                remark,
            };
            if !stock::add(&tx, &change, now).await? {
                return Ok(false);
            }
            let row = sale::Entity::find_by_id(sku.as_str()).one(&tx).await?;
            let live = [Status::Open.as_str(), Status::Paused.as_str()];
            if !row.is_some_and(|row| live.contains(&row.status.as_str())) {
                return Ok(false);
            }
            let total = inventory::Entity::update_many()
                .col_expr(inventory::Column::Initial, Expr::col(inventory::Column::Initial).add(i64::from(units)))
                .filter(inventory::Column::Sku.eq(sku.as_str()));
            total.exec(&tx).await?;
            let task = Task::Restock { restock: id.to_owned(), sku: sku.to_string(), units };
            outbox::add(&tx, &[task], now).await?;
            tx.commit().await?;
            Ok(true)
        })
        .await
    }
}

pub(super) async fn change_status(
    tx: &impl ConnectionTrait,
    sku: &str,
    from: Status,
    to: Status,
    now: Millis,
) -> Result<bool, DbErr> {
    let update = sale::Entity::update_many()
        .col_expr(sale::Column::Status, Expr::val(to.as_str()))
        .col_expr(sale::Column::Version, Expr::col(sale::Column::Version).add(1))
        .filter(sale::Column::Sku.eq(sku))
        .filter(sale::Column::Status.eq(from.as_str()));
    if update.exec(tx).await?.rows_affected == 0 {
        return Ok(false);
    }
    let version = sale::Entity::find_by_id(sku).one(tx).await?.map_or(0, |row| row.version);
    outbox::add(tx, &[Task::Terms { sku: sku.to_owned(), version }], now).await?;
    Ok(true)
}

pub(super) fn listed(row: sale::Model, inventory: Option<inventory::Model>) -> anyhow::Result<Listed> {
    let context = || format!("the row of sale {} is not readable", row.sku);
    let Some(status) = Status::parse(&row.status) else { bail!("{}: status", context()) };
    let number = |n: i64| u64::try_from(n).with_context(context);
    let terms = Terms {
        starts_at: Millis(number(row.starts_at)?),
        ends_at: Millis(number(row.ends_at)?),
        paused: status == Status::Paused,
        per_user: u32::try_from(row.per_user).with_context(context)?,
        price: number(row.price)?,
        version: number(row.version)?,
    };
    let sku = Sku::parse(&row.sku).with_context(context)?;
    let partition = Partition(u16::try_from(row.partition).with_context(context)?);
    let (stock, initial) = inventory.map_or((0, 0), |row| (row.stock, row.initial));
    Ok(Listed {
        sale: Sale {
            sku,
            title: row.title,
            currency: row.currency,
            status,
            terms,
            pay_within: Millis(u64::try_from(row.pay_within).unwrap_or(0)),
            rebuy: row.rebuy,
        },
        partition,
        stock,
        initial,
    })
}
