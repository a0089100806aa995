//! One answer of the edge, read as the client library would read it.

use std::time::Duration;

/// What an answer to an order means for the one who clicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Accepted, first answer.
    Accepted(String),
    /// The same order again.
    Replayed(String),
    /// The other click is still under way.
    InProgress,
    /// Too many requests.
    Limited,
    /// The service asks to try again.
    Busy,
    /// The order token was refused.
    TokenRefused(String),
    /// Nothing is left.
    SoldOut,
    /// Anything else; final.
    Other(String),
}

/// The parts of an answer that matter.
#[derive(Debug, Clone, Default)]
pub(super) struct Raw {
    pub(super) status: u16,
    pub(super) replayed: bool,
    pub(super) retry_after: Option<u64>,
    pub(super) body: serde_json::Value,
}

impl Answer {
    pub(super) fn of(raw: &Raw) -> Self {
        let text = |field: &str| raw.body.get(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let code = text("code");
        match (raw.status, code.as_str()) {
            (202, _) if raw.replayed => Self::Replayed(text("order_id")),
            (202, _) => Self::Accepted(text("order_id")),
            (409, "in_progress") => Self::InProgress,
            (409, "sold_out") => Self::SoldOut,
            (429, _) => Self::Limited,
            // The origin dedupes by operation, so an unknown outcome is asked for again with the same token.
            (502..=504, _) => Self::Busy,
            (400..=409, code) if code.starts_with("token_") => Self::TokenRefused(code.to_owned()),
            (status, code) => Self::Other(format!("{status} {code}")),
        }
    }

    /// Whether to try again with the same token.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::InProgress | Self::Limited | Self::Busy)
    }
}

/// How long to wait before the next attempt: what the server says, at most 5 s.
pub(super) fn pause(raw: &Raw) -> Duration {
    const LEAST: Duration = Duration::from_millis(200);
    const MOST: Duration = Duration::from_secs(5);
    raw.retry_after.map_or(LEAST, Duration::from_secs).clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(status: u16, body: serde_json::Value) -> Answer {
        Answer::of(&Raw { status, body, ..Raw::default() })
    }

    #[test]
    fn answers_are_told_apart() {
        let accepted = answer(202, json!({"order_id": "A", "status": "queued"}));
        assert_eq!(accepted, Answer::Accepted("A".into()));
        assert_eq!(answer(409, json!({"code": "in_progress"})), Answer::InProgress);
        assert_eq!(answer(409, json!({"code": "sold_out"})), Answer::SoldOut);
        assert_eq!(answer(403, json!({"code": "token_expired"})), Answer::TokenRefused("token_expired".into()));
        assert_eq!(answer(409, json!({"code": "already_bought"})), Answer::Other("409 already_bought".into()));
        assert!(answer(429, json!({})).is_passing());
        assert!(answer(503, json!({"code": "degraded"})).is_passing());
        assert!(!answer(500, json!({})).is_passing());
    }

    #[test]
    fn waits_follow_the_server_within_reason() {
        let wait = |retry_after| pause(&Raw { retry_after, ..Raw::default() });
        assert_eq!(wait(Some(2)), Duration::from_secs(2));
        assert_eq!(wait(Some(3600)), Duration::from_secs(5));
        assert_eq!(wait(None), Duration::from_millis(200));
    }
}
