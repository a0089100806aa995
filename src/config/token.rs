//! Order tokens: when they are issued, and to whom.

use super::reader::{Faults, Section};
use super::words::web_address;
use crate::model::Millis;

/// When and to whom order tokens are issued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// How long before a sale starts its tokens can be had; none for any time.
    pub opens_before: Option<Millis>,
    /// Over how long the start of buying is spread.
    pub jitter: Millis,
    /// Who must have passed a challenge proves it there.
    pub challenge: Option<Challenge>,
}

/// A service that judges challenges, as Turnstile's `siteverify` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Its address.
    pub url: String,
    /// How long it may take.
    pub deadline: Millis,
}

pub(super) fn issue(section: &Section<'_>, faults: &Faults, lifetime: Option<u64>) -> Option<Issue> {
    // A number above the range stands for "any time", which cannot be written.
    let opens_before = section.number("opens_before_s", 0..=2_592_000, Some(u64::MAX));
    let jitter = section.number("jitter_ms", 0..=60_000, Some(0));
    let url = section.text("challenge_url", Some(""));
    let deadline = section.number("challenge_deadline_ms", 100..=10_000, Some(2_000));
    if let (Some(lifetime), Some(jitter)) = (lifetime, jitter)
        && Millis(jitter) >= Millis::from_secs(lifetime)
    {
        section.fault("`jitter_ms` must be shorter than `lifetime_s`: the token would be over before its time comes");
    }
    let challenge = match url? {
        (url, _) if url.is_empty() => None,
        (url, at) => {
            Some(Challenge { url: web_address(faults, "challenge_url", url, &at)?, deadline: Millis(deadline?) })
        }
    };
    let opens_before = Some(opens_before?).filter(|seconds| *seconds != u64::MAX).map(Millis::from_secs);
    Some(Issue { opens_before, jitter: Millis(jitter?), challenge })
}
