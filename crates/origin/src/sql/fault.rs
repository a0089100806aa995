//! Whose fault a failed statement is: the database's (try again, for as long as it takes), or the data's.

use sea_orm::sqlx::mysql::MySqlDatabaseError;
use sea_orm::{DbErr, RuntimeErr, SqlxError};

/// Why a transaction of the settle loop did not commit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettleFault {
    /// The database is away, busy, full, or lost a race: the batch stays as it is.
    #[error("the database did not take the batch: {0}")]
    Outage(#[source] DbErr),
    /// Something in the batch can never be written.
    #[error("an entry cannot be written: {0}")]
    Data(String),
    /// The batch was read under an older epoch.
    #[error("the partition was recovered since the batch was read")]
    Fenced,
}

impl From<DbErr> for SettleFault {
    fn from(error: DbErr) -> Self {
        if is_data(&error) { Self::Data(error.to_string()) } else { Self::Outage(error) }
    }
}

/// Only what is known to be the data's fault counts as such: taking an outage for bad data would give up good orders,
/// the other way round an entry is only tried for too long.
fn is_data(error: &DbErr) -> bool {
    match error {
        DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error)) => match &**error {
            SqlxError::Database(error) => {
                let number = error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number);
                error.code().is_some_and(|code| is_data_code(&code)) || number.is_some_and(is_data_number)
            }
            SqlxError::Encode(_) | SqlxError::ColumnDecode { .. } | SqlxError::Decode(_) => true,
            _ => false,
        },
        DbErr::Type(_) | DbErr::TryIntoErr { .. } => true,
        _ => false,
    }
}

/// SQLSTATE classes 22 (data exception) and 23 (integrity), or SQLite's constraint, mismatch and too-big codes
/// (the low byte of an extended code is its kind).
fn is_data_code(code: &str) -> bool {
    if code.len() == 5 && (code.starts_with("22") || code.starts_with("23")) {
        return true;
    }
    const SQLITE: [u32; 3] = [18, 19, 20];
    code.len() < 5 && code.parse::<u32>().is_ok_and(|code| SQLITE.contains(&(code & 0xff)))
}

/// What MySQL and MariaDB file under the SQLSTATE for everything else (HY000): a value that the column cannot take, and
/// a CHECK that fails. Their lock time-outs, read-only modes and full disks are there as well.
fn is_data_number(number: u16) -> bool {
    [1366, 3819].contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_database_is_an_outage_and_a_violated_constraint_is_not() {
        for data in ["22001", "23505", "19", "2067", "1811", "275", "20"] {
            assert!(is_data_code(data), "{data}");
        }
        // SQLite: busy, locked, full, I/O. Then serialization, deadlock, shutdown, connection lost, too many connections,
        // read-only, statement and lock time-outs, no such table.
        let outages = ["5", "517", "6", "13", "10", "40001", "40P01", "57P01", "08006", "08004", "53300", "25006"];
        for outage in outages.into_iter().chain(["57014", "55P03", "42P01", "42S02", "HY000", "70100", ""]) {
            assert!(!is_data_code(outage), "{outage}");
        }
        // MySQL: lock wait time-out, deadlock, read-only, disk full, too many connections.
        assert!(
            is_data_number(3819) && [1205, 1213, 1290, 1021, 1040].into_iter().all(|number| !is_data_number(number))
        );
    }

    #[test]
    fn a_pool_that_is_exhausted_is_an_outage() {
        let timeout = DbErr::ConnectionAcquire(sea_orm::error::ConnAcquireErr::Timeout);
        assert!(matches!(SettleFault::from(timeout), SettleFault::Outage(_)));
    }
}
