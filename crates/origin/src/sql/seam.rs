//! Through what this adapter speaks to its databases: sea-orm's own types. In the crate's own tests they are types that
//! fail where a schedule says so (`crate::faults`); a build has nothing of that.

#[cfg(not(test))]
pub(super) use sea_orm::{DatabaseConnection as Pool, DatabaseTransaction as Tx};

#[cfg(test)]
pub(super) use crate::faults::sql::{Pool, Tx};

/// A pool to speak through.
#[cfg(not(test))]
pub(super) fn pool(connection: sea_orm::DatabaseConnection) -> Pool {
    connection
}

/// A pool to speak through.
#[cfg(test)]
pub(super) fn pool(connection: sea_orm::DatabaseConnection) -> Pool {
    Pool(connection)
}
