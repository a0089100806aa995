//! `POST /v1/orders/{id}/cancel`: an owner gives an order back that is not paid yet.

use std::sync::Arc;

use axum::extract::{Request, State};
use sluice::api::code::Code;
use sluice::api::problem::Problem;
use sluice::api::response::Response;
use sluice::model::{Millis, OrderId, User};

use super::answer::Answer;
use super::asserted::Asserted;
use super::segment::Segment;
use crate::app::App;
use crate::domain::order::{Reason, status};
use crate::sql::close::Closing;

/// When to come back while the order is not in SQL yet, or SQL is away.
const SOON: Millis = Millis(1_000);

pub(super) async fn cancel(State(app): State<Arc<App>>, Segment(id): Segment, request: Request) -> Answer {
    let asserted = match Asserted::read(&app, request).await {
        Ok(asserted) => asserted,
        Err((problem, language)) => return Answer(problem.response(language)),
    };
    let problem = match OrderId::parse(&id) {
        Ok(id) => match try_cancel(&app, &id, &asserted.user).await {
            Ok(answer) => return answer,
            Err(problem) => problem,
        },
        Err(_) => Problem::from(Code::OrderUnknown),
    };
    Answer(problem.response(asserted.language))
}

async fn try_cancel(app: &App, id: &OrderId, user: &User) -> Result<Answer, Problem> {
    // Until SQL has it, nothing is taken from SQL's stock, so there is nothing to give back.
    let queued = match app.redis.order(&app.config.keyspace, id).await {
        Ok(Some(known)) if known.user != user.as_str() => return Err(Code::OrderUnknown.into()),
        Ok(Some(known)) if known.is_queued() => return Err(Problem::from(Code::InProgress).retry_after(SOON)),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    match app.sql.cancel(id, Some(user), Reason::Buyer, app.now()).await {
        Ok(Closing::Cancelled(view)) => {
            app.metrics.cancelled();
            app.outbox.notify_one();
            app.events.notify_one();
            Ok(Answer::ok(&view))
        }
        // Asked for twice is done once.
        Ok(Closing::Left(view)) if view.status == status::CANCELLED => Ok(Answer::ok(&view)),
        // Paid, failed: the answer is the order as it is.
        Ok(Closing::Left(view)) => Ok(Answer(Response::json(409, serde_json::to_vec(&view).unwrap_or_default()))),
        Ok(Closing::Unknown) if queued.is_ok() => Err(Code::OrderUnknown.into()),
        // It may be in Redis alone, which cannot be asked.
        Ok(Closing::Unknown) => Err(Problem::from(Code::SaleUnavailable).retry_after(SOON)),
        Err(error) => {
            tracing::warn!(%error, "SQL does not answer");
            Err(Problem::from(Code::SaleUnavailable).retry_after(SOON))
        }
    }
}
