//! `POST /v1/orders/{id}/simulated-payment`: for demonstrations and tests, a payment gateway that always finds the money.
//!
//! It signs a callback as the real gateway would and hands it to the same code. Without `--simulate-payments` there is no
//! such route.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde_json::json;
use sluice::api::code::Code;
use sluice::api::problem::Problem;
use sluice::model::{Millis, OrderId, Sku, User};

use super::answer::Answer;
use super::asserted::Asserted;
use super::payment::receive;
use super::segment::Segment;
use crate::app::App;
use crate::sql::orders::View;

const SOON: Millis = Millis(1_000);

pub(super) async fn pay(State(app): State<Arc<App>>, Segment(id): Segment, request: Request) -> Answer {
    let asserted = match Asserted::read(&app, request).await {
        Ok(asserted) => asserted,
        Err((problem, language)) => return Answer(problem.response(language)),
    };
    let paid = match OrderId::parse(&id) {
        Ok(id) => try_pay(&app, &id, &asserted.user).await,
        Err(_) => Err(Code::OrderUnknown.into()),
    };
    paid.map_or_else(|problem| Answer(problem.response(asserted.language)), |view| Answer::ok(&view))
}

/// The order afterwards. One that is paid, or was given back meanwhile, is shown as it is.
async fn try_pay(app: &App, id: &OrderId, user: &User) -> Result<View, Problem> {
    let away = |what: &dyn std::fmt::Display| {
        tracing::warn!(error = %what, "a payment cannot be simulated now");
        Problem::from(Code::SaleUnavailable).retry_after(SOON)
    };
    let find = async || match app.sql.order(id, user).await {
        Ok(Some(view)) => Ok(view),
        // It may be in the stream still.
        Ok(None) => Err(Problem::from(Code::OrderUnknown)),
        Err(error) => Err(away(&error)),
    };
    let view = find().await?;
    let sku = Sku::parse(&view.sku).map_err(|_| Problem::from(Code::OrderUnknown))?;
    let sale = app.sql.sale(&sku).await.map_err(|error| away(&error))?.ok_or(Code::SaleUnknown)?;
    let callback = json!({
        // One number for one order: paying twice is being told of one payment twice.
        "payment_no": format!("simulated-{id}"),
        "order_id": id.as_str(),
        "amount": view.amount,
        "currency": sale.sale.currency,
        "status": "paid",
    });
    let (body, timestamp) = (callback.to_string(), app.now().0.to_string());
    let secrets = app.config.payment_secrets.as_ref().ok_or(Code::NotFound)?;
    let signature = secrets.sign(&timestamp, body.as_bytes());
    let told = receive(app, Some(&timestamp), Some(&signature), body.as_bytes()).await;
    told.map_err(|(_, why)| away(&why))?;
    find().await
}
