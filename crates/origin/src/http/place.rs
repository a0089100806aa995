//! `POST /v1/sales/{sku}/orders`.
//!
//! Every answer but an ambiguous one says `Sluice-Outcome`: `final` when it will never be another one, `passing` when
//! a restock or the start can change it. `Sluice-Completed` says that the claim was written with it.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Request, State};
use sluice::api::code::{Code, Language};
use sluice::api::order::{OrderRequest, accepted, already_bought};
use sluice::api::problem::Problem;
use sluice::api::response::Response;
use sluice::api::{COMPLETED, OUTCOME, SOLD_OUT};
use sluice::assertion::Operation;
use sluice::model::{Millis, Sku, User};
use sluice::script::deduct::{Claim, Deduct, Outcome, Reply};

use super::answer::Answer;
use super::asserted::Asserted;
use super::sales::is_unknown;
use super::segment::Segment;
use crate::app::App;
use crate::domain::order::new_id;
use crate::redis::RedisFault;

/// When to come back where nothing better is known.
const SOON: Millis = Millis(1_000);
const LATER: Millis = Millis(2_000);

/// Whether an answer can ever be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Final,
    Passing,
    /// Not even whether something was done is sure: no mark.
    Ambiguous,
}

pub(super) async fn place(State(app): State<Arc<App>>, Segment(sku): Segment, request: Request) -> Answer {
    let asserted = match Asserted::read(&app, request).await {
        Ok(asserted) => asserted,
        Err((problem, language)) => return Answer(problem.response(language)),
    };
    let language = asserted.language;
    let refuse = |code: Code| Answer(Problem::from(code).response(language));
    let sku = match asserted.sku(&sku) {
        Ok(sku) => sku,
        Err(code) => return refuse(code),
    };
    let Some(op) = asserted.op.as_ref().filter(|op| !op.id.is_empty() && op.id.len() <= 64) else {
        return refuse(Code::AssertionInvalid);
    };
    let content_type = asserted.headers.get("content-type").and_then(|value| value.to_str().ok());
    let quantity = match OrderRequest::parse(content_type, &asserted.body).map(|order| NonZeroU32::new(order.quantity))
    {
        Ok(Some(quantity)) => quantity,
        Ok(None) => return marked(Problem::from(Code::InvalidQuantity).response(language), Mark::Final, false),
        Err(code) => return marked(Problem::from(code).response(language), Mark::Final, false),
    };
    match deduct(&app, &sku, &asserted.user, op, quantity, language).await {
        Ok(reply) => {
            app.metrics.outcome(name(&reply.outcome));
            if reply.outcome == Outcome::NotPreheated && is_unknown(&app, &sku).await {
                // Passing: the claim is released, for a sale of that name may yet be made.
                let response = Problem::from(Code::SaleUnknown).response(language);
                return marked(response, Mark::Passing, reply.claim_written);
            }
            answer(&reply, language)
        }
        Err(fault) => {
            app.metrics.outcome("unknown");
            let request_id = asserted.headers.get("x-request-id").and_then(|value| value.to_str().ok());
            tracing::warn!(%sku, request_id, error = %fault, "an order has no answer from Redis");
            // Even where nothing was sent, an earlier attempt of this operation may have been: only the script knows.
            let problem = Problem::from(Code::SaleUnavailable).retry_after(SOON);
            marked(problem.response(language), Mark::Ambiguous, false)
        }
    }
}

async fn deduct(
    app: &App,
    sku: &Sku,
    user: &User,
    op: &Operation,
    quantity: NonZeroU32,
    language: Language,
) -> Result<Reply, RedisFault> {
    let keys = &app.config.keyspace;
    let partition = keys.partition_of(sku);
    let order = new_id(partition, app.now()).map_err(|error| RedisFault::Unsent(error.to_string()))?;
    let known_seq = app.redis.known_seq(partition);
    let claim = (app.config.shares_claims && keys.is_claim(partition, &op.claim))
        .then_some(Claim { key: &op.claim, owner: &op.owner });
    let call = Deduct {
        order: &order,
        op_id: &op.id,
        sku,
        user,
        quantity,
        not_after: Millis(op.not_after),
        known_seq,
        retention: app.config.retention,
        claim,
    };
    app.redis.deduct(keys, &call, app.answers(language)).await
}

/// The answer to each outcome.
fn answer(reply: &Reply, language: Language) -> Answer {
    let render = |problem: Problem| problem.response(language);
    let refuse = |code: Code| Problem::from(code);
    let (response, mark) = match &reply.outcome {
        Outcome::Accepted(id) | Outcome::Same(id) => (accepted(id.as_str()), Mark::Final),
        Outcome::AlreadyBought(id) => (render(already_bought(id)), Mark::Final),
        Outcome::Ended => (render(refuse(Code::SaleEnded)), Mark::Final),
        Outcome::OverQuota => (render(refuse(Code::InvalidQuantity)), Mark::Final),
        Outcome::SoldOut => (render(refuse(Code::SoldOut)), Mark::Passing),
        Outcome::Paused => (render(refuse(Code::SalePaused).retry_after(LATER)), Mark::Passing),
        Outcome::NotPreheated => (render(refuse(Code::SaleUnavailable).retry_after(LATER)), Mark::Passing),
        Outcome::NotStarted => {
            let wait = reply.starts_at.minus(reply.now);
            (render(refuse(Code::SaleNotStarted).retry_after(wait)), Mark::Passing)
        }
        Outcome::TooLate => (render(refuse(Code::OriginTimeout).status(503).retry_after(SOON)), Mark::Ambiguous),
        Outcome::RolledBack => (render(refuse(Code::SaleUnavailable).retry_after(LATER)), Mark::Ambiguous),
    };
    let mut answer = marked(response, mark, reply.claim_written);
    if reply.outcome == Outcome::SoldOut && reply.stock == 0 {
        // Nothing at all is left: the gate may refuse by itself for a moment.
        answer.0.header(SOLD_OUT, reply.now.to_string());
    }
    answer
}

fn marked(mut response: Response, mark: Mark, completed: bool) -> Answer {
    match mark {
        Mark::Final => response.header(OUTCOME, "final"),
        Mark::Passing => response.header(OUTCOME, "passing"),
        Mark::Ambiguous => {}
    }
    if completed {
        response.header(COMPLETED, "1");
    }
    Answer(response)
}

fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted(_) => "accepted",
        Outcome::Same(_) => "same",
        Outcome::AlreadyBought(_) => "already_bought",
        Outcome::SoldOut => "sold_out",
        Outcome::NotPreheated => "not_preheated",
        Outcome::Paused => "paused",
        Outcome::NotStarted => "not_started",
        Outcome::Ended => "ended",
        Outcome::TooLate => "too_late",
        Outcome::RolledBack => "rolled_back",
        Outcome::OverQuota => "over_quota",
    }
}
