//! A schedule of real processes: who comes, what breaks, and when. A pure value, made from a seed.

use super::crowd::{Crowd, Size};
use super::random::Random;
use std::fmt;

/// A crowd of some seconds.
const SIZE: Size = Size { stock: 20, buyers: 40, within: 2_500, pay_within: 1_500 };

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Who comes.
    pub(super) crowd: Crowd,
    /// How many origins share Redis and the database: 1 or 2.
    pub(super) origins: usize,
    /// What breaks, in the order in which it does.
    pub(super) faults: Vec<Fault>,
}

/// Something breaks, and is mended again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// When, ms after the start.
    pub(super) at: u64,
    /// For how long, ms.
    pub(super) lasts: u64,
    /// What.
    pub(super) what: What,
}

/// What can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// An origin is killed (SIGKILL) and started again.
    KillOrigin(usize),
    /// An origin is stopped (SIGSTOP) and goes on where it was.
    StopOrigin(usize),
    /// An origin is asked to end (SIGTERM) and started again.
    EndOrigin(usize),
    /// Redis is killed and started again with its append-only file.
    KillRedis,
    /// Redis is emptied (FLUSHALL) and recovered.
    FlushRedis,
    /// Redis is killed, its file is gone, and it is recovered.
    WipeRedis,
    /// Redis is killed and comes back as it was when the fault began; then it is recovered.
    RollBackRedis,
    /// The database does not answer; on SQLite, somebody else has its lock.
    SilenceSql,
    /// The database's connections break, and nobody is let in. (On SQLite as above.)
    CutSql,
}

/// What a fault is about; one thing breaks once at a time.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Target {
    Origin(usize),
    Redis,
    Sql,
}

impl What {
    /// In a word or two.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::KillOrigin(_) => "kill origin",
            Self::StopOrigin(_) => "stop origin",
            Self::EndOrigin(_) => "end origin",
            Self::KillRedis => "kill Redis",
            Self::FlushRedis => "flush Redis",
            Self::WipeRedis => "wipe Redis",
            Self::RollBackRedis => "roll Redis back",
            Self::SilenceSql => "silence SQL",
            Self::CutSql => "cut SQL",
        }
    }

    /// Whether Redis forgets what it had acknowledged.
    pub(super) fn loses(self) -> bool {
        matches!(self, Self::FlushRedis | Self::WipeRedis | Self::RollBackRedis)
    }

    fn target(self) -> Target {
        match self {
            Self::KillOrigin(n) | Self::StopOrigin(n) | Self::EndOrigin(n) => Target::Origin(n),
            Self::KillRedis | Self::FlushRedis | Self::WipeRedis | Self::RollBackRedis => Target::Redis,
            Self::SilenceSql | Self::CutSql => Target::Sql,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what.name())?;
        if let Target::Origin(n) = self.what.target() {
            write!(f, " {}", n + 1)?;
        }
        write!(f, " {}+{} ms", self.at, self.lasts)
    }
}

impl Schedule {
    /// The schedule of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed, 2);
        let origins = if random.chance(50) { 2 } else { 1 };
        let mut faults: Vec<Fault> = Vec::new();
        let wanted = random.within(1, 5);
        // What would break a thing that is broken already, or lose Redis twice, is left out.
        for _ in 0..wanted {
            let fault = fault(&mut random, origins);
            let overlaps = |other: &Fault| {
                other.what.target() == fault.what.target()
                    && fault.at < other.at + other.lasts + APART
                    && other.at < fault.at + fault.lasts + APART
            };
            let second = fault.what.loses() && faults.iter().any(|other| other.what.target() == Target::Redis);
            let after_loss = fault.what.target() == Target::Redis && faults.iter().any(|other| other.what.loses());
            if !(faults.iter().any(overlaps) || second || after_loss) {
                faults.push(fault);
            }
        }
        faults.sort_by_key(|fault| fault.at);
        Self { crowd: Crowd::of(seed, &SIZE), origins, faults }
    }
}

/// Between two faults of one thing, ms.
const APART: u64 = 300;

fn fault(random: &mut Random, origins: usize) -> Fault {
    let at = random.within(0, 3_000);
    let origin = usize::try_from(random.within(0, origins as u64 - 1)).unwrap_or(0);
    let (what, lasts) = match random.within(0, 19) {
        0..=5 => (What::KillOrigin(origin), random.within(0, 600)),
        // Longer than it takes until another origin takes its entries over.
        6..=9 => (What::StopOrigin(origin), random.within(1_200, 3_000)),
        10 => (What::EndOrigin(origin), random.within(0, 300)),
        11..=12 => (What::KillRedis, random.within(0, 800)),
        13 => (What::FlushRedis, random.within(0, 500)),
        14 => (What::WipeRedis, random.within(0, 500)),
        15..=16 => (What::RollBackRedis, random.within(100, 800)),
        17 => (What::SilenceSql, random.within(300, 3_000)),
        _ => (What::CutSql, random.within(300, 2_000)),
    };
    Fault { at, lasts, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_one_schedule() {
        assert_eq!(Schedule::of(9), Schedule::of(9));
        assert_ne!(Schedule::of(9), Schedule::of(10));
    }

    #[test]
    fn a_hundred_schedules_hold_every_fault_and_lose_redis_at_most_once_each() {
        let all: Vec<Schedule> = (1..=100).map(Schedule::of).collect();
        let names = |wanted: &str| all.iter().flat_map(|s| &s.faults).any(|fault| fault.what.name() == wanted);
        for wanted in ["kill origin", "stop origin", "end origin", "kill Redis", "flush Redis", "wipe Redis"] {
            assert!(names(wanted), "{wanted}");
        }
        assert!(names("roll Redis back") && names("silence SQL") && names("cut SQL"));
        assert!(all.iter().all(|s| s.faults.iter().filter(|fault| fault.what.loses()).count() <= 1));
        assert!(all.iter().all(|s| !s.faults.is_empty() && s.faults.is_sorted_by_key(|fault| fault.at)));
    }
}
