//! Refusals: the problem, the limits it met, and the one mapping from what was decided to what is said.

use super::ports::Answer;
use crate::admit::{Charge, Level, Shut};
use crate::api::code::{Code, Language};
use crate::api::problem::Problem;
use crate::api::ratelimit::{self, Met};
use crate::model::Millis;

/// When a client may try again while nothing better is known.
pub(super) const LATER: Millis = Millis(2_000);

/// A limit as a refusal met it; it may outlive the configuration.
pub(super) type OwnedMet = (String, Charge, Level);

/// A refusal: the problem, and the limits it met.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) problem: Problem,
    pub(super) met: Vec<OwnedMet>,
}

impl Refusal {
    /// At least one of the limits refuses.
    pub(super) fn limited(met: Vec<OwnedMet>) -> Self {
        let wait = ratelimit::wait(&borrowed(&met));
        Self { problem: Problem::from(Code::TooManyRequests).retry_after(wait), met }
    }

    /// This refusal, as memory alone gives it to an operation.
    pub(super) fn shed(mut self) -> Self {
        // "In progress" says by itself that there is another attempt.
        self.problem.outcome_unknown = self.problem.code != Code::InProgress;
        self
    }

    /// The answer to send.
    pub(super) fn answer(&self, language: Language) -> Answer {
        let mut response = self.problem.response(language);
        ratelimit::add(&mut response, &borrowed(&self.met));
        response.into()
    }
}

fn borrowed(met: &[OwnedMet]) -> Vec<Met<'_>> {
    met.iter().map(|(name, charge, level)| Met { name, charge: *charge, level: *level }).collect()
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problem, met: Vec::new() }
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Problem::from(code).into()
    }
}

/// The same operation is under way.
pub(super) fn in_progress(wait: Millis) -> Problem {
    // The first attempt usually ends long before its lease does.
    Problem::from(Code::InProgress).retry_after(wait.min(Millis(1_000)))
}

/// The sale sells nothing.
pub(super) fn shut(shut: Shut) -> Problem {
    match shut {
        Shut::NotStarted(wait) => Problem::from(Code::SaleNotStarted).retry_after(wait),
        Shut::Ended => Code::SaleEnded.into(),
        Shut::Paused => Problem::from(Code::SalePaused).retry_after(LATER),
        Shut::NotPreheated => Problem::from(Code::SaleUnavailable).retry_after(LATER),
        Shut::SoldOut => Code::SoldOut.into(),
    }
}

/// The isolate has as many requests on their way to the origin as it may.
pub(super) fn busy() -> Problem {
    Problem::from(Code::Busy).retry_after(Millis(1_000))
}

/// Redis is away, and the route is closed without it.
pub(super) fn degraded(wait: Millis) -> Problem {
    Problem::from(Code::Degraded).retry_after(wait)
}
