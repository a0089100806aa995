//! The settings that hold for every route: breaker, claims, log.

use super::reader::{Faults, Section};
use super::words::quota;
use crate::model::{Millis, Quota};

const DAY_MS: u64 = 86_400_000;

/// Times of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// How long one attempt keeps others out.
    pub lease: Millis,
    /// How long an answer is kept for replay.
    pub retention: Millis,
}

/// When Redis is no longer asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row that open it.
    pub failures: u32,
    /// How long it stays open before one call may try.
    pub open: Millis,
}

/// What is written of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// One in so many requests that pass; 0 for none.
    pub passed_one_in: u64,
    /// Refusals written by one isolate; those above are counted.
    pub refusals: Quota,
}

pub(super) fn breaker(section: &Section<'_>) -> Option<Breaker> {
    let failures = section.number("failures", 1..=1_000, Some(5));
    let open = section.number("open_ms", 100..=600_000, Some(10_000));
    section.finish();
    Some(Breaker { failures: u32::try_from(failures?).ok()?, open: Millis(open?) })
}

pub(super) fn log(section: &Section<'_>, faults: &Faults) -> Option<Log> {
    let passed_one_in = section.number("passed_one_in", 0..=1_000_000, Some(100));
    let burst = section.number("refusals_burst", 1..=10_000, Some(50));
    let rate = section.text("refusals_rate", Some("10/s"));
    section.finish();
    let refusals = quota(faults, burst?, rate?)?;
    Some(Log { passed_one_in: passed_one_in?, refusals })
}

pub(super) fn claim(section: &Section<'_>) -> Option<Claim> {
    let lease = section.number("lease_ms", 1_000..=600_000, Some(30_000));
    let retention = section.number("retention_ms", 60_000..=30 * DAY_MS, Some(DAY_MS));
    section.finish();
    Some(Claim { lease: Millis(lease?), retention: Millis(retention?) })
}
