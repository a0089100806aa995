//! `GET /v1/orders/{id}` and `GET /v1/sales/{sku}/orders/mine`: the owner's orders, wherever they are by now.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use serde::Serialize;
use sluice::api::code::Code;
use sluice::api::problem::Problem;
use sluice::model::{Millis, OrderId, Sku, User};

use super::answer::Answer;
use super::asserted::Asserted;
use super::segment::Segment;
use crate::app::App;
use crate::domain::order::{DUPLICATE_OF, status};
use crate::sql::orders::View;

/// Neither Redis nor SQL could be asked.
#[derive(Debug)]
struct Away;

pub(super) async fn show(State(app): State<Arc<App>>, Segment(id): Segment, request: Request) -> Answer {
    let asserted = match Asserted::read(&app, request).await {
        Ok(asserted) => asserted,
        Err((problem, language)) => return Answer(problem.response(language)),
    };
    let found = match OrderId::parse(&id) {
        Ok(id) => find(&app, &id, &asserted.user).await,
        Err(_) => Ok(None),
    };
    let problem = match found {
        Ok(Some(view)) => return Answer::ok(&view),
        Ok(None) => Problem::from(Code::OrderUnknown),
        Err(Away) => Problem::from(Code::SaleUnavailable).retry_after(Millis(1_000)),
    };
    Answer(problem.response(asserted.language))
}

#[derive(Serialize)]
struct Mine {
    orders: Vec<View>,
}

pub(super) async fn mine(State(app): State<Arc<App>>, Segment(sku): Segment, request: Request) -> Answer {
    let asserted = match Asserted::read(&app, request).await {
        Ok(asserted) => asserted,
        Err((problem, language)) => return Answer(problem.response(language)),
    };
    let problem = match asserted.sku(&sku) {
        Err(code) => Problem::from(code),
        Ok(sku) => match all(&app, &sku, &asserted.user).await {
            Ok(orders) => return Answer::ok(&Mine { orders }),
            Err(Away) => Problem::from(Code::SaleUnavailable).retry_after(Millis(1_000)),
        },
    };
    Answer(problem.response(asserted.language))
}

/// Redis knows an order first; once it is in SQL, Redis says so, and SQL decides.
async fn find(app: &App, id: &OrderId, user: &User) -> Result<Option<View>, Away> {
    let in_redis = app.redis.order(&app.config.keyspace, id).await;
    match &in_redis {
        Ok(Some(known)) if known.user != user.as_str() => return Ok(None),
        Ok(Some(known)) if known.is_queued() => return Ok(Some(known.view.clone())),
        Ok(Some(known)) => {
            if let Some(first) = known.view.status.strip_prefix(DUPLICATE_OF)
                && let Ok(first) = OrderId::parse(first)
            {
                return app.sql.order(&first, user).await.map_err(|error| away(&error));
            }
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "an order is looked up without Redis"),
    }
    let in_sql = app.sql.order(id, user).await.map_err(|error| away(&error))?;
    match (in_sql, in_redis) {
        (Some(view), _) => Ok(Some(view)),
        // Given up before it ever was in SQL.
        (None, Ok(Some(known))) => Ok(Some(View { status: status::FAILED.to_owned(), ..known.view })),
        (None, Ok(None)) => Ok(None),
        // It may be in Redis alone, which cannot be asked.
        (None, Err(_)) => Err(Away),
    }
}

async fn all(app: &App, sku: &Sku, user: &User) -> Result<Vec<View>, Away> {
    let keys = &app.config.keyspace;
    // Redis first: an order that is settled in between is then found in SQL, and not missed by both.
    let in_redis = app.redis.orders_of(keys, sku, user).await;
    let mut orders = app.sql.orders_of(sku, user).await.map_err(|error| away(&error))?;
    let in_redis = in_redis.map_err(|_| Away)?;
    let known: HashSet<String> = orders.iter().map(|view| view.order_id.clone()).collect();
    for id in in_redis.into_iter().filter(|id| !known.contains(id.as_str())) {
        if let Some(view) = find(app, &id, user).await?
            && !known.contains(&view.order_id)
        {
            orders.push(view);
        }
    }
    orders.sort_by_key(|view| std::cmp::Reverse(view.created_at));
    Ok(orders)
}

fn away(error: &sea_orm::DbErr) -> Away {
    tracing::warn!(%error, "SQL does not answer");
    Away
}
