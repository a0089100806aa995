//! What an origin's answer means for the operation: settled, to be tried again, or not known.

use super::ports::{Answer, OriginFault};
use crate::api::{COMPLETED, OUTCOME, answer};
use crate::config::OnAmbiguous;
use crate::model::Millis;
use crate::script::release::Release;

/// Largest answer that is kept for replay, packed.
const KEPT_MAX: usize = 32 * 1024;

/// What is to be written to the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Nothing: the origin has written it, or it is held as it is.
    Nothing,
    /// The answer; `None` when it is too large to keep.
    Complete(Option<String>),
    /// The claim is given up.
    Release(Release),
}

/// Reads an answer: `Sluice-Completed` and `Sluice-Outcome` of our origin first, the status of any other.
/// A 5xx, 408, 425, 429, or no answer at all, tells nothing about what the origin did.
#[must_use]
pub fn finish(answer: &Result<Answer, OriginFault>, on_ambiguous: OnAmbiguous, not_after: Millis) -> Finish {
    let ambiguous = match on_ambiguous {
        OnAmbiguous::Retry => Finish::Release(Release::NotBefore(not_after)),
        OnAmbiguous::Hold => Finish::Nothing,
    };
    let Ok(answer) = answer else { return ambiguous };
    let response = &answer.response;
    let marked = response.get(OUTCOME);
    match (marked, response.status) {
        _ if response.get(COMPLETED) == Some("1") => Finish::Nothing,
        (Some("passing"), _) => Finish::Release(Release::Forget),
        (Some("final"), _) => complete(answer),
        (_, 408 | 425 | 429 | 500..) => ambiguous,
        (_, ..200) => ambiguous,
        _ => complete(answer),
    }
}

fn complete(answer: &Answer) -> Finish {
    Finish::Complete(pack(answer))
}

/// The answer that every repetition will get from now on, as the isolate may remember it.
#[must_use]
pub fn lasting(answer: &Result<Answer, OriginFault>, finish: &Finish) -> Option<String> {
    match (finish, answer) {
        (Finish::Complete(packed), _) => packed.clone(),
        // The origin has written it itself.
        (Finish::Nothing, Ok(answer)) if answer.response.get(OUTCOME) == Some("final") => pack(answer),
        _ => None,
    }
}

fn pack(answer: &Answer) -> Option<String> {
    if answer.streamed || answer.response.body.len() > KEPT_MAX {
        return None;
    }
    Some(answer::pack(&answer.response, "")).filter(|packed| packed.len() <= KEPT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::response::Response;

    const AFTER: Millis = Millis(9);

    fn answered(status: u16, headers: &[(&'static str, &str)]) -> Result<Answer, OriginFault> {
        let mut response = Response::new(status);
        for (name, value) in headers {
            response.header(*name, *value);
        }
        Ok(Answer { response, streamed: false })
    }

    #[test]
    fn r_idempotency_41_no_answer_or_a_5xx_is_ambiguous() {
        let again = Finish::Release(Release::NotBefore(AFTER));
        for status in [500, 502, 503, 504, 408, 425, 429] {
            assert_eq!(finish(&answered(status, &[]), OnAmbiguous::Retry, AFTER), again, "{status}");
            assert_eq!(finish(&answered(status, &[]), OnAmbiguous::Hold, AFTER), Finish::Nothing, "{status}");
        }
        for fault in [OriginFault::Timeout, OriginFault::Unreachable] {
            assert_eq!(finish(&Err(fault), OnAmbiguous::Retry, AFTER), again);
        }
    }

    #[test]
    fn a_mark_decides_whatever_the_status() {
        let finish = |answer| finish(&answer, OnAmbiguous::Retry, AFTER);
        assert_eq!(finish(answered(503, &[(OUTCOME, "passing")])), Finish::Release(Release::Forget));
        assert!(matches!(finish(answered(503, &[(OUTCOME, "final")])), Finish::Complete(Some(_))));
        assert_eq!(finish(answered(202, &[(OUTCOME, "final"), (COMPLETED, "1")])), Finish::Nothing);
    }

    #[test]
    fn another_origins_2xx_to_4xx_are_final() {
        for status in [200, 201, 202, 302, 400, 404, 409, 422] {
            assert!(matches!(finish(&answered(status, &[]), OnAmbiguous::Retry, AFTER), Finish::Complete(Some(_))));
        }
    }

    #[test]
    fn an_answer_too_large_to_keep_becomes_a_tombstone() {
        let mut answer = answered(200, &[]).unwrap();
        answer.response.body = vec![b'x'; KEPT_MAX + 1];
        assert_eq!(finish(&Ok(answer), OnAmbiguous::Retry, AFTER), Finish::Complete(None));
    }
}
