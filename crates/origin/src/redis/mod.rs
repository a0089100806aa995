//! Redis: connections that are never replaced in silence, the scripts, and the stream.

pub(crate) mod books;
pub(crate) mod catalog;
mod cluster;
pub(crate) mod link;
pub(crate) mod locks;
mod masters;
mod node;
pub(crate) mod orders;
mod redirection;
mod routes;
pub(crate) mod sales;
pub(crate) mod seam;
mod seqs;
pub(crate) mod stream;

use sluice::script::Value;
use sluice::script::reply::ReplyFault;

/// Why Redis gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RedisFault {
    /// There was no connection; nothing was sent.
    #[error("Redis cannot be reached: {0}")]
    Unsent(String),
    /// It was sent, and nobody knows what came of it.
    #[error("Redis did not answer: {0}")]
    Lost(::redis::RedisError),
    /// Redis answered with an error.
    #[error("Redis refused: {0}")]
    Refused(::redis::RedisError),
    /// The answer is not the one that the script gives.
    #[error(transparent)]
    Reply(#[from] ReplyFault),
}

/// A reply as the scripts' readers take it.
fn value(reply: ::redis::Value) -> Result<Value, ReplyFault> {
    Ok(match reply {
        ::redis::Value::Nil => Value::Null,
        ::redis::Value::Int(n) => Value::Int(n),
        ::redis::Value::Okay => Value::Str("OK".to_owned()),
        ::redis::Value::SimpleString(text) => Value::Str(text),
        ::redis::Value::BulkString(bytes) => Value::Str(String::from_utf8(bytes).map_err(|_| ReplyFault)?),
        ::redis::Value::Array(items) => Value::Array(items.into_iter().map(value).collect::<Result<_, _>>()?),
        _ => return Err(ReplyFault),
    })
}
