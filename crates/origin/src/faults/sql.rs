//! Pools and transactions whose statements meet the plan of their thread.

use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, ExecResult, IsolationLevel,
    QueryResult, RuntimeErr, Statement, TransactionTrait as _,
};

use sea_orm_migration::prelude::async_trait;

use super::{Fault, next, stop};

/// In place of sea-orm's connection.
#[derive(Clone, Debug)]
pub(crate) struct Pool(pub(crate) DatabaseConnection);

/// In place of sea-orm's transaction.
#[derive(Debug)]
pub(crate) struct Tx(DatabaseTransaction);

impl Pool {
    pub(crate) async fn begin(&self) -> Result<Tx, DbErr> {
        met(|| "BEGIN".to_owned(), self.0.begin()).await.map(Tx)
    }

    pub(crate) async fn begin_with_config(
        &self,
        isolation: Option<IsolationLevel>,
        access: Option<sea_orm::AccessMode>,
    ) -> Result<Tx, DbErr> {
        met(|| "BEGIN".to_owned(), self.0.begin_with_config(isolation, access)).await.map(Tx)
    }

    pub(crate) async fn ping(&self) -> Result<(), DbErr> {
        self.0.ping().await
    }
}

impl Tx {
    pub(crate) async fn commit(self) -> Result<(), DbErr> {
        met(|| "COMMIT".to_owned(), self.0.commit()).await
    }
}

macro_rules! statements {
    ($of:ty) => {
        #[async_trait::async_trait]
        impl ConnectionTrait for $of {
            fn get_database_backend(&self) -> DbBackend {
                self.0.get_database_backend()
            }

            async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
                let name = name(&statement.sql);
                met(|| name, self.0.execute_raw(statement)).await
            }

            async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
                met(|| name(sql), self.0.execute_unprepared(sql)).await
            }

            async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
                let name = name(&statement.sql);
                met(|| name, self.0.query_one_raw(statement)).await
            }

            async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
                let name = name(&statement.sql);
                met(|| name, self.0.query_all_raw(statement)).await
            }
        }
    };
}

statements!(Pool);
statements!(Tx);

/// Does the work, unless the plan has something else for it.
async fn met<T>(call: impl FnOnce() -> String, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
    match next(call).await {
        None => return work.await,
        Some(Fault::LoseAnswer) => drop(work.await),
        Some(Fault::StopAfter) => {
            let _ = work.await;
            stop::<()>().await;
        }
        Some(Fault::Refuse | Fault::Late(_) | Fault::Stall(_) | Fault::StopBefore) => {}
    }
    Err(DbErr::Conn(RuntimeErr::Internal("a fault of the schedule".to_owned())))
}

/// The verb and the table.
fn name(sql: &str) -> String {
    let verb = sql.split_whitespace().next().unwrap_or_default();
    let after = |word: &str| {
        let rest = sql.split_once(word)?.1;
        rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|word| !word.is_empty())
    };
    let table = match verb {
        "INSERT" => after(" INTO "),
        "UPDATE" => after("UPDATE "),
        _ => after(" FROM "),
    };
    format!("{verb} {}", table.unwrap_or_default())
}
