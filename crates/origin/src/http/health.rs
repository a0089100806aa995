//! `/healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::json;

use super::answer::Answer;
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready))
}

/// The process lives.
async fn alive() -> Answer {
    Answer::ok(&json!({"status": "ok"}))
}

/// All that an order needs is there; if not, the answer names what is missing.
async fn ready(State(app): State<Arc<App>>) -> Answer {
    let mut info = ::redis::cmd("INFO");
    let (redis, sql) = tokio::join!(app.redis.command::<String>(info.arg("memory")), app.sql.answers());
    let mut missing = Vec::new();
    match redis {
        Err(_) => missing.push("redis"),
        // Under any other policy Redis may drop stock, buyers or claims to make room.
        Ok(info) if !keeps_everything(&info) => missing.push("redis: maxmemory-policy noeviction"),
        Ok(_) => {}
    }
    if !sql {
        missing.push("sql");
    }
    if !app.settles() {
        missing.push("settle");
    }
    let mut answer = Answer::ok(&if missing.is_empty() {
        json!({"status": "ready"})
    } else {
        json!({"status": "not_ready", "missing": missing})
    });
    if !missing.is_empty() {
        answer.0.status = 503;
    }
    answer
}

fn keeps_everything(info: &str) -> bool {
    info.lines()
        .find_map(|line| line.strip_prefix("maxmemory_policy:"))
        .is_none_or(|policy| policy.trim() == "noeviction")
}

pub(super) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evicting_redis_is_not_ready() {
        assert!(keeps_everything("# Memory\r\nmaxmemory_policy:noeviction\r\n"));
        assert!(!keeps_everything("maxmemory_policy:allkeys-lru\r\n"));
        assert!(keeps_everything(""), "not told");
    }
}
