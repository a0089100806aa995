//! Reads a script's reply item by item.

use sluice_upstash::Value;

/// The reply is not laid out as the script's header says: the two sides are of different versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a script's reply is not laid out as expected")]
pub struct ReplyFault;

/// The items of an array reply, in order.
#[derive(Debug)]
pub struct Reader(std::vec::IntoIter<Value>);

impl Reader {
    /// # Errors
    /// [`ReplyFault`] when the reply is no array.
    pub fn new(reply: Value) -> Result<Self, ReplyFault> {
        match reply {
            Value::Array(items) => Ok(Self(items.into_iter())),
            _ => Err(ReplyFault),
        }
    }

    /// The next item as an integer.
    ///
    /// # Errors
    /// [`ReplyFault`] when there is none, or it is none.
    pub fn int(&mut self) -> Result<i64, ReplyFault> {
        match self.0.next() {
            Some(Value::Int(n)) => Ok(n),
            _ => Err(ReplyFault),
        }
    }

    /// The next item as a number that is never negative: a time or an amount.
    ///
    /// # Errors
    /// [`ReplyFault`] when there is none, or it is none.
    pub fn amount(&mut self) -> Result<u64, ReplyFault> {
        u64::try_from(self.int()?).map_err(|_| ReplyFault)
    }

    /// The next item as a text.
    ///
    /// # Errors
    /// [`ReplyFault`] when there is none, or it is none.
    pub fn text(&mut self) -> Result<String, ReplyFault> {
        match self.0.next() {
            Some(Value::Str(text)) => Ok(text),
            _ => Err(ReplyFault),
        }
    }

    /// All that is left, as integers.
    ///
    /// # Errors
    /// [`ReplyFault`] when one is none.
    pub fn ints(mut self) -> Result<Vec<i64>, ReplyFault> {
        let mut all = Vec::with_capacity(self.0.len());
        while self.0.len() > 0 {
            all.push(self.int()?);
        }
        Ok(all)
    }
}
