//! The operators' API: what `sluice-origin` does as a tool, by HTTP, on the operators' listener.
//!
//! Each request needs the bearer token and is logged with its route and status. Without a token in the settings there is
//! no API. Answers are the tool's `--json`; a refusal is `{"error": …}` with 404, 409 or, when a store is away, 503.

mod answer;
mod products;
mod sales;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;

use super::health;
use super::segment::Segment;
use crate::app::App;
use crate::ops::{Unknown, dead, reconcile, recover};
use answer::{Told, told};

/// How long a repair or a recovery may wait for what is on its way into SQL.
const WAIT: Duration = Duration::from_secs(180);

/// Everything behind the token.
pub(super) fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    let guarded = Router::new().route("/metrics", get(health::metrics));
    if app.config.admin_tokens.is_none() {
        // The listener is on the loopback then, and counters are no secret there.
        return guarded;
    }
    guarded
        .route("/admin/sales", get(sales::list).post(sales::create))
        .route("/admin/sales/{sku}", get(sales::show))
        .route("/admin/sales/{sku}/pause", post(sales::pause))
        .route("/admin/sales/{sku}/resume", post(sales::resume))
        .route("/admin/sales/{sku}/close", post(sales::close))
        .route("/admin/sales/{sku}/restock", post(sales::restock))
        .route("/admin/sales/{sku}/reschedule", post(sales::reschedule))
        .route("/admin/sales/{sku}/repair", post(sales::repair))
        .route("/admin/products", get(products::list).post(products::create))
        .route("/admin/products/{id}", get(products::show))
        .route("/admin/products/{id}/update", post(products::update))
        .route("/admin/orders/{id}", get(order))
        .route("/admin/dead-letters", get(dead_letters))
        .route("/admin/dead-letters/{request}/retry", post(retry))
        .route("/admin/dead-letters/{request}/drop", post(drop_letter))
        .route("/admin/ledger", get(ledger))
        .route("/admin/reconcile", get(check))
        .route("/admin/recover", post(recovery))
        .layer(from_fn_with_state(app.clone(), guard))
}

/// Lets nobody through without the token, and notes who asked for what.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let known = app.config.admin_tokens.as_ref();
    let may = token.zip(known).is_some_and(|(token, known)| known.knows(token));
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = if may {
        next.run(request).await
    } else {
        let challenge = [(WWW_AUTHENTICATE, "Bearer")];
        (StatusCode::UNAUTHORIZED, challenge, axum::Json(json!({"error": "a bearer token is needed"}))).into_response()
    };
    if path != "/metrics" || !may {
        tracing::info!(%method, path, status = response.status().as_u16(), "an operator's request");
    }
    response
}

async fn order(State(app): State<Arc<App>>, Segment(id): Segment) -> Told {
    let story = async { app.sql.story(&id).await?.ok_or_else(|| Unknown(format!("SQL has no order {id}")).into()) };
    told(story.await)
}

#[derive(Deserialize)]
struct Which {
    #[serde(default)]
    all: bool,
    sku: Option<String>,
}

async fn dead_letters(State(app): State<Arc<App>>, Query(which): Query<Which>) -> Told {
    told(app.sql.dead_letters(which.all).await.map_err(Into::into))
}

async fn retry(State(app): State<Arc<App>>, Segment(request): Segment) -> Told {
    told(dead::retry(&app, &request).await)
}

async fn drop_letter(State(app): State<Arc<App>>, Segment(request): Segment) -> Told {
    told(dead::drop(&app, &request).await)
}

async fn ledger(State(app): State<Arc<App>>, Query(which): Query<Which>) -> Told {
    let verified = app.sql.verify_ledger(which.sku.as_deref()).await;
    let view = |(rows, breaks): (u64, Vec<_>)| json!({"rows": rows, "whole": breaks.is_empty(), "breaks": breaks});
    told(verified.map(view).map_err(Into::into))
}

async fn check(State(app): State<Arc<App>>) -> Told {
    told(reconcile::check(&app).await)
}

async fn recovery(State(app): State<Arc<App>>) -> Told {
    told(recover::run(&app, true, WAIT).await)
}
