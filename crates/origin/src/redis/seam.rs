//! Through what this adapter speaks to Redis: the client's own connection. In the crate's own tests it is one that fails
//! where a schedule says so (`crate::faults`); a build has nothing of that.

#[cfg(not(test))]
pub(crate) use ::redis::aio::MultiplexedConnection as Connection;

#[cfg(test)]
pub(crate) use crate::faults::redis::Connection;

/// A connection to speak through.
#[cfg(not(test))]
pub(super) fn connection(plain: ::redis::aio::MultiplexedConnection) -> Connection {
    plain
}

/// A connection to speak through.
#[cfg(test)]
pub(super) fn connection(plain: ::redis::aio::MultiplexedConnection) -> Connection {
    Connection(plain)
}
