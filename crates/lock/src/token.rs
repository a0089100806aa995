//! Random values by which Redis recognises a holder.

use crate::error::Fault;

/// Who took a lock: 128 random bits. Only its holder can release or renew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn random() -> Result<Self, Fault> {
        Ok(Self(hex()?))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who may enter a reentrant lock again. Clones are the same owner, also in other tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner(String);

impl Owner {
    /// An owner that nobody else is.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> Result<Self, Fault> {
        Ok(Self(hex()?))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn hex() -> Result<String, Fault> {
    Ok(format!("{:016x}{:016x}", getrandom::u64()?, getrandom::u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_one_width_and_never_repeat() {
        let tokens: std::collections::HashSet<String> = (0..1000).map(|_| hex().unwrap()).collect();
        assert_eq!(tokens.len(), 1000);
        assert!(tokens.iter().all(|token| token.len() == 32));
    }
}
