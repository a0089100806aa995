//! What can go wrong in a call: whose fault it is, and whether the command may have run.

use thiserror::Error;

/// Why a call brought no reply. No text in it comes from a key, a value or a token of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The deadline passed first. The command may have run, or may yet run.
    #[error("no answer within the deadline")]
    Timeout,
    /// The request could not be carried, or broke off. The command may have run.
    #[error("the REST endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// The token is wrong (401): a misconfiguration, never a passing fault.
    #[error("the REST endpoint refuses the token")]
    Unauthorized,
    /// The service before Redis is not able to answer: 429 or 5xx, or the database is suspended, over quota or full.
    #[error("the database is not available (status {status}): {message}")]
    Unavailable {
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// Redis ran the command and refused it: a mistake in the command or the script.
    #[error("Redis refuses: {0}")]
    Refused(String),
    /// The answer is not one that this client understands.
    #[error("the answer cannot be read: {0}")]
    Malformed(&'static str),
}

impl Fault {
    /// Classifies an error text that came with `status`.
    pub(crate) fn of_error(status: u16, message: String) -> Self {
        let unavailable = status == 429
            || status >= 500
            || ["ERR max ", "OOM ", "LOADING ", "MASTERDOWN ", "READONLY ", "CLUSTERDOWN ", "MISCONF "]
                .iter()
                .any(|start| message.starts_with(start))
            || message.contains("suspended");
        match status {
            401 => Self::Unauthorized,
            _ if unavailable => Self::Unavailable { status, message },
            _ => Self::Refused(message),
        }
    }

    /// `NOSCRIPT`: the script is to be sent in full.
    #[must_use]
    pub fn is_unknown_script(&self) -> bool {
        matches!(self, Self::Refused(message) if message.starts_with("NOSCRIPT"))
    }

    /// A plain Redis, which does not know the flag of [`crate::script`].
    pub(crate) fn is_unknown_flag(&self) -> bool {
        matches!(self, Self::Refused(message) if message.contains("flag in script shebang"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_brios_pr2266_a_suspended_or_full_database_is_an_outage() {
        for text in [
            "ERR max requests limit exceeded. Limit: 500000, Usage: 500000.",
            "ERR max daily request limit exceeded",
            "ERR this database is suspended",
            "OOM command not allowed when used memory > 'maxmemory'.",
        ] {
            assert!(matches!(Fault::of_error(400, text.into()), Fault::Unavailable { .. }), "{text}");
        }
    }

    #[test]
    fn r_apisix_pr13579_an_unknown_script_is_no_outage() {
        let fault = Fault::of_error(400, "NOSCRIPT No matching script. Please use EVAL.".into());
        assert!(fault.is_unknown_script() && matches!(fault, Fault::Refused(_)));
    }

    #[test]
    fn r_redis_js_1389_a_wrong_token_is_a_fault_of_its_own() {
        assert_eq!(Fault::of_error(401, "WRONGPASS invalid or missing auth token".into()), Fault::Unauthorized);
    }
}
