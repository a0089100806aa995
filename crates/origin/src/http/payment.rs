//! `POST /v1/payments/callback`: the payment gateway tells of a payment.
//!
//! It tells again until it reads SUCCESS, so SUCCESS is only said of what is in SQL for good, and what follows from a
//! payment (events, stock that goes back) is the outbox's and never turns SUCCESS into FAIL.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use sluice::digest::Tag;
use sluice::model::Millis;

use crate::app::App;
use crate::domain::payment::{Payment, is_fresh};
use crate::sql::payments::Receipt;

/// When the delivery was made, ms since 1970.
const TIMESTAMP: &str = "payment-timestamp";
/// HMAC-SHA-256 over that text, a dot and the body, in hexadecimal.
const SIGNATURE: &str = "payment-signature";

pub(super) async fn callback(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let result = receive(&app, header(TIMESTAMP), header(SIGNATURE), &body).await;
    app.metrics.payment(match &result {
        Ok(word) | Err((_, word)) => word,
    });
    match result {
        Ok(_) => (StatusCode::OK, "SUCCESS"),
        Err((status, why)) => {
            tracing::warn!(why, "a payment callback was refused");
            (status, "FAIL")
        }
    }
}

/// In a word, what became of it.
pub(super) async fn receive(
    app: &App,
    timestamp: Option<&str>,
    signature: Option<&str>,
    body: &[u8],
) -> Result<&'static str, (StatusCode, &'static str)> {
    let secrets = app.config.payment_secrets.as_ref().ok_or((StatusCode::NOT_FOUND, "not_configured"))?;
    let (Some(timestamp), Some(signature)) = (timestamp, signature) else {
        return Err((StatusCode::FORBIDDEN, "unsigned"));
    };
    if !secrets.verify(timestamp, body, signature) {
        return Err((StatusCode::FORBIDDEN, "forged"));
    }
    let payment = Payment::parse(body).map_err(|_| (StatusCode::BAD_REQUEST, "unreadable"))?;
    let now = app.now();
    let fresh = timestamp.parse().is_ok_and(|at| is_fresh(Millis(at), now));

    let partition = payment.order.partition();
    let key = app.config.keyspace.paid(partition, &Tag::of(&[payment.number.as_bytes()]));
    let essence = payment.essence();
    // Redis may be away: then SQL says it.
    let marker: Option<String> = app.redis.command(partition, ::redis::cmd("GET").arg(&key)).await.unwrap_or_default();
    if marker.as_deref() == Some(essence.as_str()) {
        return Ok("known");
    }
    let away = |error: sea_orm::DbErr| {
        tracing::warn!(%error, "SQL does not answer");
        (StatusCode::SERVICE_UNAVAILABLE, "away")
    };
    if !fresh {
        // An old delivery may only repeat what is known.
        return match app.sql.knows_payment(&payment).await.map_err(away)? {
            true => Ok("known"),
            false => Err((StatusCode::FORBIDDEN, "stale")),
        };
    }
    let receipt = ulid::Ulid::generate().to_string();
    let word = match app.sql.receive(&payment, &receipt, now).await.map_err(away)? {
        Receipt::Applied => "applied",
        Receipt::RefundDue => {
            tracing::error!(order = %payment.order, "a payment came too late and is to be refunded");
            "refund_due"
        }
        Receipt::Failed => "failed",
        Receipt::Known => "known",
        Receipt::Conflict => return Err((StatusCode::CONFLICT, "conflict")),
        Receipt::Mismatch => {
            tracing::error!(order = %payment.order, "a payment has another amount or currency than its order");
            return Err((StatusCode::BAD_REQUEST, "mismatch"));
        }
        // It may be in the stream still: the gateway tells again.
        Receipt::NoOrder => return Err((StatusCode::SERVICE_UNAVAILABLE, "no_order")),
    };
    app.outbox.notify_one();
    app.events.notify_one();
    // After SQL has it; where this fails, the next delivery asks SQL.
    let mut mark = ::redis::cmd("SET");
    mark.arg(&key).arg(&essence).arg("PX").arg(app.config.marker_ttl.0);
    let _: Result<(), _> = app.redis.command(partition, &mark).await;
    Ok(word)
}
