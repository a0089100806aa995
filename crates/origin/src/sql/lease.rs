//! Leases: who does what only one may do at a time.

use sea_orm::sea_query::Expr;
use sea_orm::{ActiveValue::Set, ColumnTrait as _, Condition, DbErr, EntityTrait as _, QueryFilter as _};
use sluice::model::Millis;

use super::entity::lease::{ActiveModel, Column, Entity};
use super::{ANSWER, Sql, int, or_nothing};

impl Sql {
    /// Takes or renews a lease until `until`. `false` when another owner has it.
    pub(crate) async fn lease(&self, name: &str, owner: &str, now: Millis, until: Millis) -> Result<bool, DbErr> {
        self.within(ANSWER, async {
            let row = ActiveModel { name: Set(name.to_owned()), owner: Set(String::new()), expires_at: Set(0) };
            let insert = Entity::insert_many([row]).on_conflict(or_nothing(Column::Name));
            insert.exec_without_returning(&self.writer()).await?;
            let update = Entity::update_many()
                .col_expr(Column::Owner, Expr::val(owner))
                .col_expr(Column::ExpiresAt, Expr::val(int(until.0)))
                .filter(Column::Name.eq(name))
                .filter(Condition::any().add(Column::Owner.eq(owner)).add(Column::ExpiresAt.lte(int(now.0))));
            Ok(update.exec(&self.writer()).await?.rows_affected == 1)
        })
        .await
    }

    /// Gives a lease back, if it is still this owner's.
    pub(crate) async fn release(&self, name: &str, owner: &str) -> Result<(), DbErr> {
        self.within(ANSWER, async {
            let update = Entity::update_many().col_expr(Column::ExpiresAt, Expr::val(0));
            update.filter(Column::Name.eq(name)).filter(Column::Owner.eq(owner)).exec(&self.writer()).await.map(drop)
        })
        .await
    }
}
