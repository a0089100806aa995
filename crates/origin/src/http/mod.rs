//! The HTTP side: what the edge forwards, and what operators ask.

mod admin;
mod answer;
mod asserted;
mod board;
mod cancel;
mod health;
mod orders;
mod payment;
mod place;
mod products;
mod sales;
mod segment;
mod simulated;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::routing::{get, post};
use sluice::api::code::{Code, Language};
use sluice::api::problem::Problem;

use crate::app::App;
use answer::Answer;

/// Bodies may be so large: an order is far smaller.
const BODY_LIMIT: usize = 64 * 1024;

/// The routes behind the edge.
pub(crate) fn public(app: Arc<App>) -> Router {
    let simulated = match app.config.simulates_payments {
        true => Router::new().route("/v1/orders/{id}/simulated-payment", post(simulated::pay)),
        false => Router::new(),
    };
    simulated
        .route("/v1/products/{id}", get(products::show))
        .route("/v1/best-sellers", get(board::best))
        .route("/v1/sales", get(board::sales))
        .route("/v1/sales/{sku}", get(sales::show))
        .route("/v1/sales/{sku}/details", get(sales::show))
        .route("/v1/sales/{sku}/orders", post(place::place))
        .route("/v1/sales/{sku}/orders/mine", get(orders::mine))
        .route("/v1/orders/{id}", get(orders::show))
        .route("/v1/orders/{id}/cancel", post(cancel::cancel))
        .route("/v1/payments/callback", post(payment::callback).layer(DefaultBodyLimit::max(BODY_LIMIT)))
        .merge(health::routes())
        .fallback(async |headers: HeaderMap| problem(Code::NotFound, &headers))
        .method_not_allowed_fallback(async |headers: HeaderMap| problem(Code::MethodNotAllowed, &headers))
        .with_state(app)
}

/// The routes for operators.
pub(crate) fn admin(app: Arc<App>) -> Router {
    Router::new()
        .merge(admin::routes(&app))
        .merge(health::routes())
        .fallback(async |headers: HeaderMap| problem(Code::NotFound, &headers))
        .with_state(app)
}

/// The language that a client reads.
fn language(headers: &HeaderMap) -> Language {
    Language::of(headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()))
}

/// A refusal.
fn problem(problem: impl Into<Problem>, headers: &HeaderMap) -> Answer {
    Answer(problem.into().response(language(headers)))
}
