//! One admission as a whole: the executable specification of `lua/admit.lua`, against which it is tested.

use super::bucket::{charge_all, in_shadow};
use super::claim::{Claim, Step, step};
use super::{Charge, Level, Snapshot, Verdict};
use crate::model::{Micros, Millis};

/// What a call asks.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Owner and fingerprint, when the request is an operation.
    pub operation: Option<(&'a str, &'a str)>,
    /// Whether the caller would refuse an operation that has no claim yet.
    pub else_refuse: bool,
    /// Whether a sale that sells nothing refuses what has no claim yet.
    pub sale_refuses: bool,
    /// Whether a stored token is passed: an operation consumes it, any other request is issued it.
    pub token: bool,
    /// What each bucket is asked; those in shadow last.
    pub charges: &'a [Charge],
    /// How many of them are in shadow.
    pub shadow: usize,
    /// Latest time at which it may claim; zero for any.
    pub call_by: Millis,
}

/// What Redis holds.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// The operation's claim.
    pub claim: Option<&'a Claim>,
    /// The sale, when the call passes its keys and it is there.
    pub sale: Option<Snapshot>,
    /// Whether the token that is passed is there.
    pub token: bool,
    /// Whether the JWT's mark is passed and there.
    pub revoked: bool,
    /// Each bucket's theoretical arrival time, 0 for none.
    pub buckets: &'a [Micros],
}

/// The verdict, and what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict; of a take-over, the op id is left for the caller to fill in.
    pub verdict: Verdict,
    /// Positions of the buckets in shadow that would have refused. Of a verdict that looks at no bucket: none.
    pub would_refuse: Vec<usize>,
    /// Whether the buckets are charged, but for those that would have refused.
    pub charges: bool,
    /// Whether the operation is claimed.
    pub claims: bool,
    /// What becomes of the token's key.
    pub token: TokenKey,
}

/// What becomes of a stored token's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenKey {
    /// It stays as it is.
    #[default]
    Stays,
    /// It is deleted.
    Consumed,
    /// It is written.
    Issued,
}

impl Decision {
    /// A refusal that looks at no bucket and writes nothing.
    fn refused(verdict: Verdict) -> Self {
        Self { verdict, would_refuse: Vec::new(), charges: false, claims: false, token: TokenKey::Stays }
    }
}

/// Decides one call at `now`.
#[must_use]
pub fn decide(ask: Ask<'_>, held: Held<'_>, now: Micros) -> Decision {
    let now_ms = Millis(now.0 / 1000);
    if ask.call_by > Millis(0) && now_ms > ask.call_by {
        return Decision::refused(Verdict::TooLate);
    }
    if held.revoked {
        return Decision::refused(Verdict::Revoked);
    }
    let met = ask.operation.map(|(owner, fingerprint)| step(held.claim, owner, fingerprint, now_ms));
    match met {
        Some(Step::InFlight(deadline)) => Decision::refused(Verdict::InFlight { deadline }),
        Some(Step::Replay(answer)) => Decision::refused(Verdict::Replay { answer }),
        Some(Step::Tombstone) => Decision::refused(Verdict::Tombstone),
        Some(Step::Unknown) => Decision::refused(Verdict::OutcomeUnknown),
        Some(Step::Claim) if ask.else_refuse => Decision::refused(Verdict::ElseRefused),
        Some(Step::Claim) if ask.token && held.claim.is_none() && !held.token => Decision::refused(Verdict::TokenUsed),
        Some(Step::Own) => own(ask, held, now),
        Some(Step::Mismatch) => charge(ask, held, now, |levels| Verdict::Mismatch { levels }),
        Some(Step::Claim | Step::TakeOver) | None => {
            let new = met != Some(Step::TakeOver);
            if let Some(shut) = held.sale.filter(|_| new && ask.sale_refuses).and_then(|sale| sale.shut(now_ms)) {
                return Decision::refused(Verdict::Shut(shut));
            }
            let mut decision =
                charge(ask, held, now, |levels| Verdict::Admitted { taken_over: (!new).then(String::new), levels });
            if decision.charges {
                decision.claims = met.is_some();
                decision.token = match (ask.token, ask.operation) {
                    (false, _) => TokenKey::Stays,
                    (true, None) => TokenKey::Issued,
                    (true, Some(_)) if held.claim.is_none() => TokenKey::Consumed,
                    (true, Some(_)) => TokenKey::Stays,
                };
            }
            decision
        }
    }
}

/// The buckets, all or nothing; those in shadow beside them.
fn charge(ask: Ask<'_>, held: Held<'_>, now: Micros, passed: impl FnOnce(Vec<Level>) -> Verdict) -> Decision {
    let enforced = ask.charges.len() - ask.shadow;
    let (charges, shadow) = ask.charges.split_at(enforced);
    let (stored, in_the_dark) = held.buckets.split_at(enforced);
    let outcome = charge_all(charges, stored, now);
    let beside = in_shadow(shadow, in_the_dark, now, outcome.is_ok());
    let would_refuse = (enforced..).zip(&beside).filter(|(_, (_, refuses))| *refuses).map(|(at, _)| at).collect();
    let with = |mut levels: Vec<Level>| {
        levels.extend(beside.iter().map(|(level, _)| *level));
        levels
    };
    let (verdict, charges) = match outcome {
        Ok(levels) => (passed(with(levels)), true),
        Err(levels) => (Verdict::Limited { levels: with(levels) }, false),
    };
    Decision { verdict, would_refuse, charges, claims: false, token: TokenKey::Stays }
}

/// This caller's own claim, seen again: the buckets are told and not charged.
fn own(ask: Ask<'_>, held: Held<'_>, now: Micros) -> Decision {
    let level = |(charge, stored): (&Charge, &Micros)| charge.level(*stored, now);
    let levels = ask.charges.iter().zip(held.buckets).map(level).collect();
    Decision::refused(Verdict::Admitted { taken_over: None, levels })
}
