//! What can go wrong, by whose fault it is.

use std::time::Duration;

/// Arguments that can never make a lock. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// A name or prefix is empty.
    #[error("the {0} is empty")]
    Empty(&'static str),
    /// A name or prefix is too long.
    #[error("the {what} has {length} bytes; at most {longest} are allowed")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The longest that is allowed.
        longest: usize,
    },
    /// A character that would change what the key means to Redis.
    #[error("the {what} holds {character:?}, which a key of a lock cannot hold")]
    Character {
        /// Which text.
        what: &'static str,
        /// The character.
        character: char,
    },
    /// A duration outside of its range.
    #[error("{what} of {given:?} is outside of {shortest:?} to {longest:?}")]
    Duration {
        /// Which duration.
        what: &'static str,
        /// What was given.
        given: Duration,
        /// The shortest that is allowed.
        shortest: Duration,
        /// The longest that is allowed.
        longest: Duration,
    },
    /// Redlock needs an odd number of servers, three or more.
    #[error("{0} servers cannot vote: Redlock needs an odd number, at least 3")]
    Servers(usize),
}

/// Redis did not do what was asked, or nobody knows whether it did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No answer in time: whether the command ran is unknown.
    #[error("Redis did not answer within {0:?}")]
    TimedOut(Duration),
    /// The connection failed, or Redis answered with an error.
    #[error("Redis: {0}")]
    Redis(#[from] redis::RedisError),
    /// A reply that the script never gives.
    #[error("Redis sent a reply that makes no sense for {0}")]
    Reply(&'static str),
    /// Too few of several servers answered.
    #[error("{answered} of {servers} servers answered; {needed} are needed")]
    NoQuorum {
        /// How many gave an answer, whatever it was.
        answered: usize,
        /// How many are needed.
        needed: usize,
        /// How many there are.
        servers: usize,
    },
    /// The servers took so long that nothing of the lease would be left.
    #[error("the servers took {0:?}, and no time of the lease is left")]
    TooSlow(Duration),
    /// The system gives no random numbers.
    #[error("no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
}

impl Fault {
    /// Whether the lock's key holds a lock of another kind. Then a lock of this kind is not held.
    pub(crate) fn is_other_kind(&self) -> bool {
        matches!(self, Self::Redis(error) if error.code() == Some("WRONGTYPE"))
    }
}

/// Why there is no guard.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAcquired {
    /// Others had the lock all the time.
    #[error("the lock was not free within {waited:?}")]
    Busy {
        /// How long was waited.
        waited: Duration,
    },
    /// Nobody knows who has the lock. It is not waited for: the caller decides what to do without locks.
    #[error("locks are unavailable: {0}")]
    Unavailable(#[from] Fault),
}
