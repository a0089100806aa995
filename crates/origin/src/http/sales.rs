//! `GET /v1/sales/{sku}`: public, and the same for everybody.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::Serialize;
use sluice::api::code::Code;
use sluice::api::problem::Problem;
use sluice::model::{Millis, Sku};

use super::answer::Answer;
use super::problem;
use super::segment::Segment;
use crate::app::App;
use crate::domain::sale::{State as SaleState, Status};
use crate::sale_cache::{Failed, Seen};

#[derive(Serialize)]
struct View<'a> {
    sku: &'a str,
    title: &'a str,
    price: u64,
    currency: &'a str,
    per_user: u32,
    state: &'static str,
    stock: i64,
    starts_at: u64,
    ends_at: u64,
    now: u64,
}

pub(super) async fn show(State(app): State<Arc<App>>, Segment(sku): Segment, headers: HeaderMap) -> Answer {
    let Ok(sku) = Sku::parse(&sku) else { return problem(Code::InvalidSku, &headers) };
    match app.sales.get(&sku, &app.config.clock, look_up(&app, &sku)).await {
        Ok(Some(seen)) => Answer::ok(&view(&seen)),
        Ok(None) => problem(Code::SaleUnknown, &headers),
        Err(Failed) => problem(Problem::from(Code::SaleUnavailable).retry_after(Millis(1_000)), &headers),
    }
}

/// Whether there is no such sale at all; false where that cannot be found out.
pub(super) async fn is_unknown(app: &App, sku: &Sku) -> bool {
    matches!(app.sales.get(sku, &app.config.clock, look_up(app, sku)).await, Ok(None))
}

async fn look_up(app: &App, sku: &Sku) -> Result<Option<Seen>, Failed> {
    try_look_up(app, sku).await.map_err(|error| {
        tracing::warn!(%sku, error = format!("{error:#}"), "a sale cannot be looked up");
        Failed
    })
}

async fn try_look_up(app: &App, sku: &Sku) -> anyhow::Result<Option<Seen>> {
    let Some(listed) = app.sql.sale(sku).await? else { return Ok(None) };
    let (now, stock) = app.redis.stock(&app.config.keyspace, sku).await?;
    let state = SaleState::of(&listed.sale, stock, now);
    // Before it is in Redis, all of its stock is to come; after that, what Redis does not have cannot be bought.
    let scheduled = listed.sale.status == Status::Scheduled;
    let stock = stock.unwrap_or(if scheduled { listed.stock } else { 0 });
    Ok(Some(Seen { sale: listed.sale, state, stock, now }))
}

fn view(seen: &Seen) -> View<'_> {
    let Seen { sale, state, stock, now } = seen;
    View {
        sku: sale.sku.as_str(),
        title: &sale.title,
        price: sale.terms.price,
        currency: &sale.currency,
        per_user: sale.terms.per_user,
        state: state.as_str(),
        stock: *stock,
        starts_at: sale.terms.starts_at.0,
        ends_at: sale.terms.ends_at.0,
        now: now.0,
    }
}
