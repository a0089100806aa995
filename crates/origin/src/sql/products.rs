//! Products: made, changed and read. Whatever changes one also leaves a task to have the caches forget it, later on.

use anyhow::Context as _;
use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, DbErr, EntityTrait as _, PaginatorTrait as _, QueryFilter as _,
    QueryOrder as _, QuerySelect as _,
};
use sluice::model::{Millis, Sku};

use super::entity::product::{ActiveModel, Column, Entity, Model};
use super::outbox::{self, Task};
use super::{ANSWER, Sql, WORK, int, or_nothing};
use crate::domain::product::{Change, Class, Product};

/// When caches are told a second time to forget a product: after every read that was under way has come to its end.
pub(crate) const AGAIN: Millis = Millis(500);

impl Sql {
    /// Makes a product, of version 1. `false` when there is one of that id, which stays as it is.
    pub(crate) async fn create_product(&self, product: &Product, now: Millis) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            if Entity::find_by_id(&product.id).one(&tx).await?.is_some() {
                return Ok(false);
            }
            // Two processes may make it at once: the primary key lets one, and its time tells whose it is.
            let row = ActiveModel {
                id: Set(product.id.clone()),
                title: Set(product.title.clone()),
                description: Set(product.description.clone()),
                price: Set(int(product.price)),
                currency: Set(product.currency.clone()),
                class: Set(product.class.as_str().to_owned()),
                version: Set(1),
                created_at: Set(int(now.0)),
                updated_at: Set(int(now.0)),
            };
            let insert = Entity::insert_many([row]).on_conflict(or_nothing(Column::Id));
            if insert.exec_without_returning(&tx).await? == 0 {
                return Ok(false);
            }
            let task = Task::Product { product: product.id.clone(), version: 1 };
            outbox::add_later(&tx, &[task], now, now.plus(AGAIN)).await?;
            tx.commit().await?;
            Ok(true)
        })
        .await
    }

    /// Changes a product, and returns it as it is now. `None` when there is no such product.
    pub(crate) async fn change_product(
        &self,
        id: &Sku,
        change: &Change,
        now: Millis,
    ) -> anyhow::Result<Option<Product>> {
        self.within(ANSWER, async {
            let tx = self.begin().await?;
            let mut update = Entity::update_many()
                .col_expr(Column::Version, Expr::col(Column::Version).add(1))
                .col_expr(Column::UpdatedAt, Expr::val(int(now.0)))
                .filter(Column::Id.eq(id.as_str()));
            for (column, text) in [
                (Column::Title, change.title.as_deref()),
                (Column::Description, change.description.as_deref()),
                (Column::Currency, change.currency.as_deref()),
                (Column::Class, change.class.map(Class::as_str)),
            ] {
                if let Some(text) = text {
                    update = update.col_expr(column, Expr::val(text));
                }
            }
            if let Some(price) = change.price {
                update = update.col_expr(Column::Price, Expr::val(int(price)));
            }
            if update.exec(&tx).await?.rows_affected == 0 {
                return Ok(None);
            }
            let row = Entity::find_by_id(id.as_str()).one(&tx).await?.context("the product has vanished")?;
            let task = Task::Product { product: row.id.clone(), version: row.version };
            outbox::add_later(&tx, &[task], now, now.plus(AGAIN)).await?;
            tx.commit().await?;
            product(row).map(Some)
        })
        .await
    }

    /// One product.
    pub(crate) async fn product(&self, id: &Sku) -> anyhow::Result<Option<Product>> {
        self.within(ANSWER, async {
            Entity::find_by_id(id.as_str()).one(&self.reader()).await?.map(product).transpose()
        })
        .await
    }

    /// Products in the order of their ids, those after `after`.
    pub(crate) async fn products(&self, after: &str, most: u64) -> anyhow::Result<Vec<Product>> {
        self.within(ANSWER, async {
            let rows = Entity::find().filter(Column::Id.gt(after)).order_by_asc(Column::Id).limit(most);
            rows.all(&self.reader()).await?.into_iter().map(product).collect()
        })
        .await
    }

    /// How many there are.
    pub(crate) async fn count_products(&self) -> Result<u64, DbErr> {
        self.within(WORK, async { Entity::find().count(&self.reader()).await }).await
    }

    /// Ids in their order, those after `after`.
    pub(crate) async fn product_ids(&self, after: &str, most: u64) -> Result<Vec<String>, DbErr> {
        self.within(WORK, async {
            let ids = Entity::find().select_only().column(Column::Id).filter(Column::Id.gt(after));
            ids.order_by_asc(Column::Id).limit(most).into_tuple().all(&self.reader()).await
        })
        .await
    }
}

fn product(row: Model) -> anyhow::Result<Product> {
    let context = || format!("the row of product {} is not readable", row.id);
    let number = |n: i64| u64::try_from(n).with_context(context);
    Ok(Product {
        price: number(row.price)?,
        class: Class::parse(&row.class).map_err(anyhow::Error::msg).with_context(context)?,
        version: number(row.version)?,
        updated_at: number(row.updated_at)?,
        title: row.title,
        description: row.description,
        currency: row.currency,
        id: row.id,
    })
}
