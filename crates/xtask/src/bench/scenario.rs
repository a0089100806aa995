//! The scenarios in which every contender is sent the same requests in turns.

use super::contender::Contender::{self, Objects, Pass, Script, Sluice, Upstash, Verify};
use super::effort::Effort;
use super::field::Field;
use super::load::{Seen, Until};
use super::measure::Sample;
use super::orders::{Order, Press};
use crate::console::Step;
use anyhow::{Result, ensure};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::path::Path;

/// Each contender's samples, one a round.
pub(super) type Rounds = BTreeMap<Contender, Vec<Sample>>;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Scenario {
    /// Distinct users and tokens, all forwarded.
    Admitted,
    /// Ten users far over their limit.
    OverLimit,
    /// The same fifty operations again and again, in flight and done.
    Duplicates,
    /// Distinct users after the last unit.
    SoldOut,
    /// 100 units, 20,000 users, double clicks, forged tokens, bots behind 10 addresses.
    Rush,
    /// The first request of a new isolate.
    Cold,
    /// With 1,000 and with 1,000,000 live subjects in Redis.
    Growth,
    /// Microseconds of Redis an admission.
    Redis,
    /// Bytes of the WebAssembly.
    Size,
}

impl Scenario {
    /// Its name on the command line and in targets.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::OverLimit => "over-limit",
            Self::Duplicates => "duplicates",
            Self::SoldOut => "sold-out",
            Self::Rush => "rush",
            Self::Cold => "cold",
            Self::Growth => "growth",
            Self::Redis => "redis",
            Self::Size => "size",
        }
    }
}

/// Requests that are sent for a while, and what may be answered.
struct Flow {
    contenders: &'static [Contender],
    orders: Vec<Order>,
    stock: u64,
    expected: &'static [u16],
    /// A status, and which part of the answers it must be at least.
    mostly: (u16, f64),
}

impl Flow {
    fn of(scenario: Scenario, effort: Effort) -> Self {
        const PLENTY: u64 = 100_000_000;
        let many = u32::try_from(effort.seconds.max(effort.warm) * 5_500).unwrap_or(u32::MAX);
        match scenario {
            Scenario::OverLimit => Self {
                contenders: &[Sluice, Upstash, Script, Verify, Objects],
                orders: (0..20_000).map(|n| Order { token: n, ..Order::of(n % 10) }).collect(),
                stock: PLENTY,
                expected: &[202, 409, 429],
                mostly: (429, 0.5),
            },
            Scenario::Duplicates => Self {
                contenders: &[Sluice, Upstash, Script, Verify, Objects],
                orders: (0..50).map(Order::of).collect(),
                stock: PLENTY,
                expected: &[202, 409],
                mostly: (202, 0.8),
            },
            Scenario::SoldOut => Self {
                contenders: &[Sluice, Upstash, Script, Verify, Objects],
                orders: (0..20_000).map(Order::of).collect(),
                stock: 0,
                expected: &[409],
                mostly: (409, 1.0),
            },
            _ => Self {
                contenders: &Contender::ALL,
                orders: (0..many).map(Order::of).collect(),
                stock: PLENTY,
                expected: &[202],
                mostly: (202, 1.0),
            },
        }
    }

    fn expected(&self, contender: Contender) -> &'static [u16] {
        if contender == Verify { &[202] } else { self.expected }
    }

    fn check(&self, contender: Contender, seen: &Seen) -> Result<()> {
        let (status, least) = self.mostly;
        let part = seen.of_status(status) as f64 / seen.requests as f64;
        ensure!(
            contender == Verify || part >= least,
            "{contender}: only {part:.2} of the answers are {status}: {seen:?}"
        );
        Ok(())
    }
}

/// Runs one of the first four scenarios.
pub(super) async fn run(field: &mut Field, scenario: Scenario, effort: Effort) -> Result<Rounds> {
    let flow = Flow::of(scenario, effort);
    let step = Step::start(scenario.name());
    let folder = field.stack().folder().to_path_buf();
    let file = {
        let press = Press::new(field.stack().secrets(), &folder)?;
        press.print(scenario.name(), scenario.name(), &flow.orders)?
    };
    let mut rounds = Rounds::new();
    for contender in flow.contenders {
        // Compiled and connected; nothing of it counts.
        turn(field, scenario, &flow, *contender, &file, effort.warm).await?;
    }
    for round in 1..=effort.rounds {
        for contender in flow.contenders {
            step.note(&format!("round {round}, {contender}"));
            let sample = turn(field, scenario, &flow, *contender, &file, effort.seconds).await?;
            rounds.entry(*contender).or_default().push(sample);
        }
    }
    step.done("done");
    Ok(rounds)
}

async fn turn(
    field: &mut Field,
    scenario: Scenario,
    flow: &Flow,
    contender: Contender,
    file: &Path,
    seconds: u64,
) -> Result<Sample> {
    field.open(scenario.name(), flow.stock).await?;
    // Admitted orders are sent once; (d) and (e) remember nothing, so that for them none is a repetition.
    let once = scenario == Scenario::Admitted && !matches!(contender, Pass | Verify);
    let until = if once { Until::Seconds(seconds) } else { Until::SecondsAgain(seconds) };
    let (sample, seen) = field.run(contender, file, until, flow.expected(contender)).await?;
    flow.check(contender, &seen)?;
    Ok(sample)
}
