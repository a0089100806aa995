//! Epoch and `seq` of the partitions.

use sea_orm::sea_query::{CaseStatement, Expr};
use sea_orm::{ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _, QueryFilter as _};
use sluice::model::Partition;

use super::entity::partition::{ActiveModel, Column, Entity};
use super::fault::SettleFault;
use super::{ANSWER, Sql, WORK, int, or_nothing};

impl Sql {
    /// Makes the rows of `partitions` that are missing.
    pub(crate) async fn ensure_partitions(&self, partitions: impl Iterator<Item = Partition>) -> Result<(), DbErr> {
        self.within(WORK, async {
            let rows = partitions.map(|p| ActiveModel { id: Set(p.0.into()), epoch: Set(0), seq: Set(0) });
            let insert = Entity::insert_many(rows).on_conflict(or_nothing(Column::Id));
            insert.exec_without_returning(&self.writer()).await.map(drop)
        })
        .await
    }

    /// The epoch and the highest settled `seq`.
    pub(crate) async fn partition(&self, partition: Partition) -> Result<(i64, u64), DbErr> {
        self.within(ANSWER, async {
            let row = Entity::find_by_id(i32::from(partition.0)).one(&self.reader()).await?;
            let row = row.ok_or_else(|| DbErr::RecordNotFound(format!("partition {}", partition.0)))?;
            Ok((row.epoch, u64::try_from(row.seq).unwrap_or(0)))
        })
        .await
    }
}

/// Locks the partition's row until the transaction ends, provided that it still has `epoch`, and raises its `seq`.
pub(super) async fn lock(
    tx: &impl ConnectionTrait,
    partition: Partition,
    epoch: i64,
    seq: u64,
) -> Result<(), SettleFault> {
    let seq = int(seq);
    let raised = CaseStatement::new().case(Column::Seq.lt(seq), seq).finally(Expr::col(Column::Seq));
    let update = Entity::update_many()
        .col_expr(Column::Seq, raised.into())
        .filter(Column::Id.eq(i32::from(partition.0)))
        .filter(Column::Epoch.eq(epoch));
    match update.exec(tx).await?.rows_affected {
        0 => Err(SettleFault::Fenced),
        _ => Ok(()),
    }
}
