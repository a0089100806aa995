//! The claim of an operation: the states of `lua/claim.lua`, and what a caller meets there.

use crate::model::Millis;

/// What became of an operation so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Someone is at it until `deadline`.
    InFlight {
        /// Whose nonce it carries.
        owner: String,
        /// The fingerprint of its request.
        fingerprint: String,
        /// When it may be taken over (or, when held, when its outcome counts as unknown).
        deadline: Millis,
        /// Never taken over.
        held: bool,
    },
    /// Answered; `None` when the answer was too large to keep.
    Done {
        /// The fingerprint of its request.
        fingerprint: String,
        /// The answer, packed.
        answer: Option<String>,
    },
    /// Given up after a stored token was consumed for it: it stands in for that token, and for nothing else.
    Released,
}

/// What a caller with `owner` and `fingerprint` may do at `now`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Claim it, and be charged.
    Claim,
    /// It is this caller's own claim, seen again: pass without a charge.
    Own,
    /// Take over a claim whose lease has lapsed, keeping its op id.
    TakeOver,
    /// Other contents under the same key: refused, and charged. Comes before everything else.
    Mismatch,
    /// Wait until then.
    InFlight(Millis),
    /// Repeat this answer.
    Replay(String),
    /// Answered, but the answer was not kept.
    Tombstone,
    /// It began, and nobody can tell how it ended.
    Unknown,
}

/// The first step of admission, as `lua/admit.lua` takes it.
#[must_use]
pub fn step(claim: Option<&Claim>, owner: &str, fingerprint: &str, now: Millis) -> Step {
    match claim {
        None | Some(Claim::Released) => Step::Claim,
        Some(Claim::InFlight { fingerprint: f, .. } | Claim::Done { fingerprint: f, .. }) if f != fingerprint => {
            Step::Mismatch
        }
        Some(Claim::InFlight { owner: o, .. }) if o == owner => Step::Own,
        Some(Claim::InFlight { deadline, .. }) if now < *deadline => Step::InFlight(*deadline),
        Some(Claim::InFlight { held: true, .. }) => Step::Unknown,
        Some(Claim::InFlight { .. }) => Step::TakeOver,
        Some(Claim::Done { answer: Some(answer), .. }) => Step::Replay(answer.clone()),
        Some(Claim::Done { answer: None, .. }) => Step::Tombstone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(held: bool) -> Claim {
        Claim::InFlight { owner: "me".into(), fingerprint: "f".into(), deadline: Millis(10), held }
    }

    #[test]
    fn r_idempot_js_183_a_mismatch_is_told_before_in_flight() {
        assert_eq!(step(Some(&in_flight(false)), "you", "g", Millis(1)), Step::Mismatch);
    }

    #[test]
    fn r_express_idempotency_32_a_lapsed_lease_is_taken_over_unless_it_is_held() {
        assert_eq!(step(Some(&in_flight(false)), "you", "f", Millis(9)), Step::InFlight(Millis(10)));
        assert_eq!(step(Some(&in_flight(false)), "you", "f", Millis(10)), Step::TakeOver);
        assert_eq!(step(Some(&in_flight(true)), "you", "f", Millis(10)), Step::Unknown);
    }

    #[test]
    fn r_redis_js_http_a_repeated_call_meets_its_own_claim() {
        assert_eq!(step(Some(&in_flight(false)), "me", "f", Millis(1)), Step::Own);
    }
}
