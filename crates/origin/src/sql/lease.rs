//! Leases: who does what only one may do at a time, while Redis is away and its locks with it.

use std::time::Duration;

use sea_orm::sea_query::{Expr, ExprTrait as _, SimpleExpr};
use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, Condition, ConnectionTrait, DbBackend, DbErr, EntityTrait as _,
    QueryFilter as _,
};
use sluice_lock::Fallback;

use super::entity::lease::{ActiveModel, Column, Entity};
use super::{ANSWER, Sql, or_nothing};

/// Characters of a holder that are kept: what the column takes, and still 104 random bits.
const HOLDER: usize = 26;

fn kept(holder: &str) -> &str {
    holder.get(..HOLDER).unwrap_or(holder)
}

/// The database's clock in ms, so that the clocks of the origins do not matter.
fn now(backend: DbBackend) -> SimpleExpr {
    Expr::cust(match backend {
        DbBackend::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
        DbBackend::MySql => "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
        _ => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    })
}

impl Fallback for Sql {
    type Error = DbErr;

    async fn take(&self, name: &str, holder: &str, ttl: Duration) -> Result<bool, DbErr> {
        let (holder, ttl) = (kept(holder), i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX / 2));
        self.within(ANSWER, async {
            let row = ActiveModel { name: Set(name.to_owned()), owner: Set(String::new()), expires_at: Set(0) };
            let insert = Entity::insert_many([row]).on_conflict(or_nothing(Column::Name));
            let writer = self.writer();
            insert.exec_without_returning(&writer).await?;
            let now = now(ConnectionTrait::get_database_backend(&writer));
            let update = Entity::update_many()
                .col_expr(Column::Owner, Expr::val(holder))
                .col_expr(Column::ExpiresAt, now.clone().add(ttl))
                .filter(Column::Name.eq(name))
                .filter(Condition::any().add(Column::Owner.eq(holder)).add(Expr::col(Column::ExpiresAt).lte(now)));
            Ok(update.exec(&writer).await?.rows_affected == 1)
        })
        .await
    }

    async fn give_up(&self, name: &str, holder: &str) -> Result<(), DbErr> {
        self.within(ANSWER, async {
            let update = Entity::update_many().col_expr(Column::ExpiresAt, Expr::val(0));
            let mine = update.filter(Column::Name.eq(name)).filter(Column::Owner.eq(kept(holder)));
            mine.exec(&self.writer()).await.map(drop)
        })
        .await
    }
}
