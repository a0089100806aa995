//! One admission as a whole: the executable specification of `lua/admit.lua`, against which it is tested.

use super::bucket::charge_all;
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
    /// What each bucket is asked.
    pub charges: &'a [Charge],
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
    /// Each bucket's theoretical arrival time, 0 for none.
    pub buckets: &'a [Micros],
}

/// The verdict, and whether buckets and claim are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict; of a take-over, the op id is left for the caller to fill in.
    pub verdict: Verdict,
    /// Whether the buckets are charged.
    pub charges: bool,
    /// Whether the operation is claimed.
    pub claims: bool,
}

/// Decides one call at `now`.
#[must_use]
pub fn decide(ask: Ask<'_>, held: Held<'_>, now: Micros) -> Decision {
    let refused = |verdict| Decision { verdict, charges: false, claims: false };
    let now_ms = Millis(now.0 / 1000);
    if ask.call_by > Millis(0) && now_ms > ask.call_by {
        return refused(Verdict::TooLate);
    }
    let met = ask.operation.map(|(owner, fingerprint)| step(held.claim, owner, fingerprint, now_ms));
    let charged = charge_all(ask.charges, held.buckets, now);
    match met {
        Some(Step::InFlight(deadline)) => refused(Verdict::InFlight { deadline }),
        Some(Step::Replay(answer)) => refused(Verdict::Replay { answer }),
        Some(Step::Tombstone) => refused(Verdict::Tombstone),
        Some(Step::Unknown) => refused(Verdict::OutcomeUnknown),
        Some(Step::Claim) if ask.else_refuse => refused(Verdict::ElseRefused),
        Some(Step::Own) => {
            let level = |(charge, stored): (&Charge, &Micros)| charge.level(*stored, now);
            let levels: Vec<Level> = ask.charges.iter().zip(held.buckets).map(level).collect();
            refused(Verdict::Admitted { taken_over: None, levels })
        }
        Some(Step::Mismatch) => match charged {
            Err(levels) => refused(Verdict::Limited { levels }),
            Ok(levels) => Decision { verdict: Verdict::Mismatch { levels }, charges: true, claims: false },
        },
        Some(Step::Claim | Step::TakeOver) | None => {
            let new = met != Some(Step::TakeOver);
            if let Some(shut) = held.sale.filter(|_| new && ask.sale_refuses).and_then(|sale| sale.shut(now_ms)) {
                return refused(Verdict::Shut(shut));
            }
            match charged {
                Err(levels) => refused(Verdict::Limited { levels }),
                Ok(levels) => Decision {
                    verdict: Verdict::Admitted { taken_over: (!new).then(String::new), levels },
                    charges: true,
                    claims: met.is_some(),
                },
            }
        }
    }
}
