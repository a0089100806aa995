//! The ledger, read row by row.

use sea_orm::{ColumnTrait as _, DbErr, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _};
use serde::Serialize;

use super::entity::inventory_log::{Column, Entity};
use super::entity::{inventory, order, payment};
use super::orders::View;
use super::{ANSWER, Sql, WORK};
use crate::domain::ledger::{Break, Chain, Link};

/// Rows that one look takes.
const PAGE: u64 = 5_000;

/// An order with all that SQL knows of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Story {
    #[serde(flatten)]
    pub(crate) order: View,
    pub(crate) request_id: String,
    pub(crate) seq: i64,
    pub(crate) settled_at: i64,
    pub(crate) closed_at: Option<i64>,
    pub(crate) reason: Option<String>,
    /// Its rows of the ledger: number and change.
    pub(crate) ledger: Vec<(String, i64)>,
    /// Its payments: number and status.
    pub(crate) payments: Vec<(String, String)>,
}

impl Sql {
    /// Follows the chain of every sale, or of one. Returns how many rows there are and where a chain is broken.
    ///
    /// Rows and stock are read one after the other; what was settled in between lengthens the chain, so the stock is
    /// read before and after, and the rest of the rows as long as it moves.
    pub(crate) async fn verify_ledger(&self, only: Option<&str>) -> Result<(u64, Vec<Break>), DbErr> {
        let skus: Vec<String> = match only {
            Some(sku) => vec![sku.to_owned()],
            None => {
                self.within(ANSWER, async {
                    let select = inventory::Entity::find().select_only().column(inventory::Column::Sku);
                    select.order_by_asc(inventory::Column::Sku).into_tuple().all(&self.reader()).await
                })
                .await?
            }
        };
        let (mut rows, mut breaks) = (0, Vec::new());
        for sku in skus {
            let (n, found) = self.verify_chain(&sku).await?;
            rows += n;
            breaks.extend(found);
        }
        Ok((rows, breaks))
    }

    async fn verify_chain(&self, sku: &str) -> Result<(u64, Vec<Break>), DbErr> {
        let mut chain = Chain::of(sku);
        let mut after = 0i64;
        loop {
            let before = self.stock_of(sku).await?;
            loop {
                let rows = self
                    .within(WORK, async {
                        let select = Entity::find().filter(Column::Sku.eq(sku)).filter(Column::Id.gt(after));
                        select.order_by_asc(Column::Id).limit(PAGE).all(&self.reader()).await
                    })
                    .await?;
                let Some(last) = rows.last() else { break };
                after = last.id;
                for row in rows {
                    chain.follow(&Link {
                        number: row.log_no,
                        quantity: row.quantity,
                        before: row.before_stock,
                        after: row.after_stock,
                    });
                }
            }
            // Unchanged stock on both sides of the last look: no row was missed.
            if self.stock_of(sku).await? == before {
                return Ok(chain.end(before));
            }
        }
    }

    async fn stock_of(&self, sku: &str) -> Result<i64, DbErr> {
        self.within(ANSWER, async {
            Ok(inventory::Entity::find_by_id(sku).one(&self.reader()).await?.map_or(0, |row| row.stock))
        })
        .await
    }

    /// Everything about an order, whoever owns it.
    pub(crate) async fn story(&self, id: &str) -> Result<Option<Story>, DbErr> {
        self.within(ANSWER, async {
            let reader = self.reader();
            let Some(row) = order::Entity::find_by_id(id).one(&reader).await? else { return Ok(None) };
            let ledger = Entity::find().filter(Column::Sku.eq(row.sku.as_str())).filter(Column::OrderId.eq(id));
            let ledger = ledger.order_by_asc(Column::Id).all(&reader).await?;
            let payments = payment::Entity::find().filter(payment::Column::OrderId.eq(id)).all(&reader).await?;
            Ok(Some(Story {
                request_id: row.request_id.clone(),
                seq: row.seq,
                settled_at: row.settled_at,
                closed_at: row.closed_at,
                reason: row.reason.clone(),
                order: row.into(),
                ledger: ledger.into_iter().map(|row| (row.log_no, row.quantity)).collect(),
                payments: payments.into_iter().map(|row| (row.payment_no, row.status)).collect(),
            }))
        })
        .await
    }
}
