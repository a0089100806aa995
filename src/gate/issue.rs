//! Order tokens: issued from some time before the sale on, to who passed the challenge where one is demanded, with the
//! time to wait that makes the start no spike.

use std::fmt;

use serde::Deserialize;
use sluice_upstash::Transport;

use super::edition::Edition;
use super::ports::{Ports, Request};
use super::refusal::{LATER, Refusal};
use super::who::Caller;
use super::{Gate, whole};
use crate::api::CHALLENGE;
use crate::api::code::Code;
use crate::api::json::Object;
use crate::api::problem::Problem;
use crate::api::response::Response;
use crate::config::{self, Action, Route};
use crate::model::Millis;

/// Longest answer to a challenge, as Turnstile bounds it.
const ANSWER_MAX: usize = 2_048;

/// The secret by which the service that judges challenges knows the shop.
pub(super) struct ChallengeSecret(pub(super) String);

impl fmt::Debug for ChallengeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChallengeSecret")
    }
}

/// The answer to a challenge in a body.
#[derive(Deserialize)]
struct Answered {
    challenge: String,
}

/// What the service says.
#[derive(Deserialize)]
struct Judged {
    success: bool,
    #[serde(default, rename = "error-codes")]
    faults: Vec<String>,
}

/// The client's answer to the challenge, where the route demands one.
pub(super) fn answer(edition: &Edition, route: &Route, request: &Request) -> Result<Option<String>, Problem> {
    if route.action != Action::IssueToken || edition.config.issue.challenge.is_none() {
        return Ok(None);
    }
    let in_body = || serde_json::from_slice::<Answered>(whole(request)).ok().map(|body| body.challenge);
    let answer = request.header(CHALLENGE).map(str::to_owned).or_else(in_body).unwrap_or_default();
    match answer.len() {
        0 => Err(Code::ChallengeRequired.into()),
        1..=ANSWER_MAX if answer.bytes().all(|b| b.is_ascii_graphic()) => Ok(Some(answer)),
        _ => Err(Code::ChallengeFailed.into()),
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// Issues an order token to a caller whom the limits have let pass.
    pub(super) async fn issue<P: Ports>(
        &self,
        edition: &Edition,
        caller: &Caller,
        challenge: Option<String>,
        id: Option<[u8; 16]>,
        ports: &P,
    ) -> Result<Response, Refusal> {
        let (Some(user), Some(sku)) = (&caller.user, &caller.sku) else { return Err(Code::IdentityMissing.into()) };
        let issue = &edition.config.issue;
        let sale = self.memory.sale(sku, ports.now());
        let clock = self.clock(ports.now());
        match (sale, issue.opens_before) {
            (Some(sale), _) if clock >= sale.ends_at => return Err(Code::SaleEnded.into()),
            (Some(sale), Some(before)) if clock.plus(before) < sale.starts_at => {
                let wait = sale.starts_at.minus(before).minus(clock);
                return Err(Problem::from(Code::SaleNotStarted).retry_after(wait).into());
            }
            (None, Some(_)) => return Err(Problem::from(Code::SaleUnavailable).retry_after(LATER).into()),
            _ => {}
        }
        // After the limits, which protect the service, and when nothing else stands against it: an answer counts once.
        if let Some((service, answer)) = issue.challenge.as_ref().zip(challenge) {
            self.judge_challenge(service, &answer, caller, ports).await?;
        }
        // Its end is compared with the isolate's clock, without asking Redis.
        let now = ports.now();
        let (clock, starts_at) = (self.clock(now), sale.map_or(Millis(0), |sale| sale.starts_at));
        let expires = now.max(starts_at).plus(edition.config.token_lifetime);
        let wait = match starts_at.minus(clock) {
            Millis(0) => Millis(0),
            left => left.plus(part_of(issue.jitter, ports.random())),
        };
        let token = self.tokens.issue(id.unwrap_or_else(|| ports.random()), user, sku, expires);
        let body = Object::new().text("token", &token).number("expires_at", expires.0);
        let body = body.number("now", clock.0).number("wait_ms", wait.0);
        let body = if sale.is_some() { body.number("starts_at", starts_at.0) } else { body };
        Ok(Response::json(200, body.done().into_bytes()))
    }

    /// Redis' clock, by which sales start; the isolate's while that is not known.
    fn clock(&self, now: Millis) -> Millis {
        match self.memory.latest(now) {
            Millis(0) => now,
            latest => latest,
        }
    }

    async fn judge_challenge<P: Ports>(
        &self,
        service: &config::Challenge,
        answer: &str,
        caller: &Caller,
        ports: &P,
    ) -> Result<(), Problem> {
        let Some(ChallengeSecret(secret)) = &self.challenge else { return Err(Code::Misconfigured.into()) };
        let address = caller.address.map(|address| address.to_string()).unwrap_or_default();
        let form = [("secret", secret.as_str()), ("response", answer), ("remoteip", address.as_str())];
        let fields = if address.is_empty() { form.get(..2) } else { form.get(..) };
        let said = ports.ask(&service.url, fields, service.deadline).await;
        let judged = match &said {
            Ok((status, text)) if *status < 500 => serde_json::from_str::<Judged>(text).ok(),
            _ => None,
        };
        let fault = match judged {
            Some(Judged { success: true, .. }) => return Ok(()),
            Some(judged) if !judged.faults.iter().any(|fault| is_ours(fault)) => {
                return Err(Code::ChallengeFailed.into());
            }
            Some(_) => "it does not know the shop, or is not well",
            None => said.err().map_or("no judgement", super::ports::AskFault::as_str),
        };
        ports.log(&format!(r#"{{"event":"challenge","fault":"{fault}"}}"#));
        Err(Problem::from(Code::ChallengeUnavailable).retry_after(LATER))
    }
}

/// Faults that are no fault of the client's.
fn is_ours(fault: &str) -> bool {
    matches!(fault, "missing-input-secret" | "invalid-input-secret" | "internal-error")
}

/// A part of `length`, from nothing to all of it, each as likely as any other.
fn part_of(Millis(length): Millis, chance: [u8; 16]) -> Millis {
    let part = u128::from_be_bytes(chance) % (u128::from(length) + 1);
    Millis(u64::try_from(part).unwrap_or(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_never_more_than_the_whole_and_every_part_comes() {
        let parts: Vec<u64> = (0..1_000u128).map(|n| part_of(Millis(9), n.to_be_bytes()).0).collect();
        assert!((0..=9).all(|part| parts.iter().filter(|p| **p == part).count() == 100));
        assert_eq!(part_of(Millis(0), [0xff; 16]), Millis(0));
    }
}
