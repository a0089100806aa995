//! `GET /v1/products/{id}`: public, and the same for everybody. The price is what the page shows; what an order costs is
//! the sale's price, which `deduct.lua` reads.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use sluice::api::code::Code;
use sluice::api::problem::Problem;
use sluice::model::Sku;

use super::answer::Answer;
use super::problem;
use super::segment::Segment;
use crate::app::App;
use crate::catalog::Refusal;
use crate::catalog::read::{Busy, find};

pub(super) async fn show(State(app): State<Arc<App>>, Segment(id): Segment, headers: HeaderMap) -> Answer {
    let Ok(id) = Sku::parse(&id) else {
        app.catalog.counts.refused(Refusal::Argument);
        return problem(Code::InvalidSku, &headers);
    };
    match find(&app, &id).await {
        Ok(Some(product)) => Answer::ok(&product),
        Ok(None) => problem(Code::ProductUnknown, &headers),
        Err(Busy(wait)) => problem(Problem::from(Code::Busy).retry_after(wait), &headers),
    }
}
