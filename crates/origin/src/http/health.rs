//! `/healthz`, `/readyz` and `/metrics`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::json;
use sluice::model::Partition;

use super::answer::Answer;
use crate::app::App;
use crate::redis::link::Told;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready))
}

/// The process lives.
async fn alive() -> Answer {
    Answer::ok(&json!({"status": "ok"}))
}

/// All that an order needs is there; if not, the answer names what is missing. A master of a cluster that is away takes
/// its own sales with it and no others: the answer then names its partitions, and is still 200.
async fn ready(State(app): State<Arc<App>>) -> Answer {
    let mut info = ::redis::cmd("INFO");
    let (servers, sql) = tokio::join!(app.redis.every::<String>(info.arg("memory")), app.sql.answers());
    let (mut served, mut forgetful) = (BTreeSet::new(), false);
    for Told { partitions, reply } in servers.unwrap_or_default() {
        if let Ok(info) = reply {
            served.extend(partitions);
            forgetful |= !keeps_everything(&info);
        }
    }
    let mut missing = Vec::new();
    if served.is_empty() {
        missing.push("redis");
    }
    if forgetful {
        // Redis may drop stock, buyers or claims to make room.
        missing.push("redis: maxmemory-policy noeviction");
    }
    if !sql {
        missing.push("sql");
    }
    if !served.iter().all(|p| app.settles(*p)) {
        missing.push("settle");
    }
    let away: Vec<u16> =
        app.config.keyspace.partitions().filter(|p| !served.contains(p)).map(|Partition(p)| p).collect();
    if !missing.is_empty() {
        let mut answer = Answer::ok(&json!({"status": "not_ready", "missing": missing}));
        answer.0.status = 503;
        return answer;
    }
    Answer::ok(&if away.is_empty() {
        json!({"status": "ready"})
    } else {
        json!({"status": "ready", "partitions_away": away})
    })
}

fn keeps_everything(info: &str) -> bool {
    info.lines()
        .find_map(|line| line.strip_prefix("maxmemory_policy:"))
        .is_none_or(|policy| policy.trim() == "noeviction")
}

pub(super) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    (
        [(CONTENT_TYPE, "text/plain; version=0.0.4")],
        format!("{}{}{}", app.metrics.text(), app.catalog.counts.text(), app.jobs.text()),
    )
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
