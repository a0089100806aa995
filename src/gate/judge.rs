//! What a verdict leads to, and what a request gets while there is none: the one place that holds the outage policy.

use super::admission::{Admitted, Held, Passage};
use super::memory::Memory;
use super::question::Question;
use super::refusal::{self, LATER, OwnedMet, Refusal};
use crate::admit::{Level, Verdict};
use crate::api::code::Code;
use crate::api::problem::Problem;
use crate::api::ratelimit::Met;
use crate::api::{REPLAYED, answer};
use crate::assertion::Operation;
use crate::config::{OnRedisDown, Route};
use crate::model::Millis;
use crate::script::admit::Reply;

/// What a verdict leads to.
pub(super) fn judge<'g>(
    question: &Question<'g>,
    reply: Reply,
    brought: Option<Refusal>,
    route: &Route,
) -> Result<Passage<'g>, Refusal> {
    let dark = reply.would_refuse.iter().filter_map(|at| question.limits.get(*at));
    question.trace.would_refuse.borrow_mut().extend(dark.map(|limit| limit.name.clone()));
    let met = |levels: &[Level]| met(question, levels);
    let owned = |levels: &[Level]| owned(question, levels);
    match reply.verdict {
        Verdict::Admitted { taken_over, levels } => {
            let operation = question.call.claiming.as_ref().map(|claiming| Held {
                op: question.op.unwrap_or(claiming.op_id),
                fingerprint: claiming.fingerprint,
                owner: claiming.owner,
                patience: question.patience,
                assertion: Operation {
                    id: taken_over.unwrap_or_else(|| claiming.op_id.to_string()),
                    claim: claiming.key.clone(),
                    owner: claiming.owner.to_string(),
                    not_after: reply.now.plus(route.origin_deadline).0,
                },
            });
            Ok(Passage::Admitted(Admitted { met: met(&levels), operation, token_id: question.token_id }))
        }
        Verdict::Limited { levels } => Err(Refusal::limited(owned(&levels))),
        Verdict::Mismatch { levels } => Err(Refusal { problem: Code::IdempotencyMismatch.into(), met: owned(&levels) }),
        Verdict::InFlight { deadline } => Err(refusal::in_progress(deadline.minus(reply.now)).into()),
        Verdict::Replay { answer } => replay(&answer),
        Verdict::Shut(shut) => Err(refusal::shut(shut).into()),
        Verdict::ElseRefused => Err(brought.unwrap_or_else(|| Code::OutcomeUnknown.into())),
        Verdict::OutcomeUnknown => Err(Code::OutcomeUnknown.into()),
        Verdict::Tombstone => {
            let detail = "The operation was answered before; its answer was too large to be kept.";
            Err(Problem::from(Code::OutcomeUnknown).detail(detail).into())
        }
        Verdict::TokenUsed => Err(Code::TokenUsed.into()),
        Verdict::Revoked => Err(Code::IdentityRevoked.into()),
        // Whoever asked has dealt with it: nobody has looked at the request.
        Verdict::TooLate => Err(refusal::degraded(LATER).into()),
    }
}

pub(super) fn replay<'g>(answer: &str) -> Result<Passage<'g>, Refusal> {
    let mut response = answer::unpack(answer).ok_or(Code::OutcomeUnknown)?;
    response.header(REPLAYED, "true");
    Ok(Passage::Replay(response))
}

/// The limits as the request met them. Those in shadow are not told to the client.
fn met<'g>(question: &Question<'g>, levels: &[Level]) -> Vec<Met<'g>> {
    let each = question.enforced().zip(levels);
    each.map(|((limit, _, charge), level)| Met { name: &limit.name, charge, level: *level }).collect()
}

fn owned(question: &Question<'_>, levels: &[Level]) -> Vec<OwnedMet> {
    met(question, levels).into_iter().map(|m| (m.name.to_owned(), m.charge, m.level)).collect()
}

/// What a request gets while Redis is away. A verdict of its own: it never counts as admitted by the limits.
pub(super) fn degraded<'g>(
    memory: &Memory,
    route: &Route,
    question: &Question<'g>,
    wait: Millis,
    now: Millis,
) -> Result<Passage<'g>, Refusal> {
    question.trace.degraded.set(true);
    match route.on_redis_down {
        OnRedisDown::Open => Ok(Passage::Admitted(Admitted::default())),
        OnRedisDown::Closed => Err(refusal::degraded(wait).into()),
        OnRedisDown::Local => match memory.local(question, now) {
            Ok(levels) => Ok(Passage::Admitted(Admitted { met: met(question, &levels), ..Admitted::default() })),
            Err(levels) => Err(Refusal::limited(owned(question, &levels))),
        },
    }
}
