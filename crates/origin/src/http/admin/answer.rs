//! What an operation came to, as an answer.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::json;

use crate::ops::Unknown;
use crate::redis::RedisFault;

/// An answer to an operator.
pub(super) type Told = Response;

/// 200 with the result, or a refusal that says why.
pub(super) fn told<T: Serialize>(result: anyhow::Result<T>) -> Told {
    let error = match result {
        Ok(result) => return Json(result).into_response(),
        Err(error) => error,
    };
    let away = error.chain().any(|cause| cause.is::<sea_orm::DbErr>() || cause.is::<RedisFault>());
    if away {
        // The cause may hold a statement with its values: it is for the log alone.
        tracing::warn!(error = format!("{error:#}"), "an operator's request met a store that is away");
        let outermost = if error.chain().count() > 1 { error.to_string() } else { "a store did not answer".to_owned() };
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"error": outermost}))).into_response();
    }
    let status = if error.is::<Unknown>() { StatusCode::NOT_FOUND } else { StatusCode::CONFLICT };
    (status, Json(json!({"error": format!("{error:#}")}))).into_response()
}

/// 400, with what is wrong.
pub(super) fn bad(what: impl std::fmt::Display) -> Told {
    (StatusCode::BAD_REQUEST, Json(json!({"error": what.to_string()}))).into_response()
}
