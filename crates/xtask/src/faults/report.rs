//! What people and programs read of the schedules.

use super::options::Database;
use super::run::Outcome;
use super::schedule::Schedule;
use crate::{clock, console};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// All schedules of one call.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// How many were to be run.
    schedules: usize,
    /// How many have been.
    done: usize,
    /// How long it took, s.
    pub(super) seconds: u64,
    /// Orders that were accepted.
    accepted: usize,
    /// Of them, those that were lost with Redis, as the guarantee says.
    lost_with_redis: usize,
    /// How often an origin took entries over from another one.
    take_overs: usize,
    /// Faults by name.
    faults: BTreeMap<&'static str, usize>,
    /// Schedules by database.
    databases: BTreeMap<&'static str, usize>,
    /// Seeds of the schedules that broke an invariant.
    pub(super) failed: Vec<u64>,
}

impl Report {
    pub(super) fn new(schedules: usize) -> Self {
        Self { schedules, ..Self::default() }
    }

    /// One more is done: a line about it, and everything where it failed.
    pub(super) fn add(&mut self, schedule: &Schedule, database: Database, took: Duration, outcome: &Outcome) {
        let seed = schedule.crowd.seed;
        self.done += 1;
        self.accepted += outcome.accepted;
        self.lost_with_redis += outcome.lost;
        self.take_overs += outcome.take_overs;
        *self.databases.entry(database.name()).or_default() += 1;
        for fault in &schedule.faults {
            *self.faults.entry(fault.what.name()).or_default() += 1;
        }
        let faults: Vec<String> = schedule.faults.iter().map(ToString::to_string).collect();
        let word = if outcome.broken.is_empty() { "ok" } else { "BROKEN" };
        console::say(&format!(
            "[{}/{}] seed {seed}, {}, {} origin(s): {}; {} accepted, {} lost with Redis: {word} in {}",
            self.done,
            self.schedules,
            database.name(),
            schedule.origins,
            faults.join(", "),
            outcome.accepted,
            outcome.lost,
            clock::human(took)
        ));
        if outcome.broken.is_empty() {
            return;
        }
        self.failed.push(seed);
        for broken in &outcome.broken {
            console::say(&format!("{} {broken}", console::paint(31, "broken:")));
        }
        console::say(&format!("{schedule:#?}"));
        for (at, told) in &outcome.told {
            console::say(&format!("{at:>6} ms {told:?}"));
        }
        console::say(&outcome.logs);
        let again = format!("cargo xtask faults --schedules 1 --seed {seed} --database {}", database.name());
        console::say(&format!("The same schedule again: {again}"));
    }

    /// The whole in a sentence.
    pub(super) fn sentence(&self) -> String {
        let faults: Vec<String> = self.faults.iter().map(|(name, times)| format!("{times} x {name}")).collect();
        let outcome = match self.failed.as_slice() {
            [] => "every invariant held".to_owned(),
            seeds => format!("BROKEN by seeds {seeds:?}"),
        };
        format!(
            "{} schedules in {} s ({}); {} orders accepted, {} of them lost with Redis; {} take-overs: {outcome}",
            self.done,
            self.seconds,
            faults.join(", "),
            self.accepted,
            self.lost_with_redis,
            self.take_overs
        )
    }
}
