//! A row in SQL that is guarded by the number of the lock: a holder that lost its lease without noticing is refused.
//!
//!     cargo run -p sluice-lock --example fencing -- redis://127.0.0.1:6379

use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, DbErr};
use sluice_lock::{Fence, Locks, Terms, Wait};
use std::time::Duration;

/// Writes the price only if no later holder has written before: the condition and the write are one statement.
async fn set_price(sql: &DatabaseConnection, fence: Fence, cents: i64) -> Result<bool, DbErr> {
    let statement =
        format!("UPDATE prices SET cents = {cents}, fence = {fence} WHERE sku = 'demo' AND fence <= {fence}");
    Ok(sql.execute_unprepared(&statement).await?.rows_affected() == 1)
}

/// Two holders, the first of which stops for longer than its lease. Whether each was allowed to write: the second was,
/// the first no more.
pub async fn run(redis: &str) -> anyhow::Result<(bool, bool)> {
    let sql = Database::connect("sqlite::memory:").await?;
    sql.execute_unprepared("CREATE TABLE prices (sku TEXT PRIMARY KEY, cents INTEGER, fence INTEGER)").await?;
    sql.execute_unprepared("INSERT INTO prices VALUES ('demo', 1999, 0)").await?;

    let connection = redis::Client::open(redis)?.get_connection_manager().await?;
    let lock = Locks::new(connection, "example")?.simple("price", Terms::new(Duration::from_millis(100))?.fenced())?;
    let number = |guard: &sluice_lock::Guard| guard.fence().ok_or_else(|| anyhow::anyhow!("the lock is not fenced"));

    let first = lock.acquire(Wait::up_to(Duration::from_secs(5))).await?;
    // A pause that the first holder does not notice: its lease ends meanwhile, and a second one comes.
    let second = lock.acquire(Wait::up_to(Duration::from_secs(5))).await?;
    let later = set_price(&sql, number(&second)?, 1499).await?;
    let earlier = set_price(&sql, number(&first)?, 999).await?;
    Ok((later, earlier))
}

#[allow(clippy::print_stdout, reason = "a program for people")]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let redis = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let (later, earlier) = run(&redis).await?;
    println!("the second holder wrote: {later}; the first, back from its pause: {earlier}");
    Ok(())
}
