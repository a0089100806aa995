//! The figures that were promised, beside those that were measured.

use super::contender::Contender::{self, Pass, Script, Sluice, Upstash, Verify};
use super::measure::{self, Sample, Spread};
use super::results::Results;
use super::scenario::Scenario::{self, Admitted, Duplicates, OverLimit, Rush, SoldOut};
use serde::Serialize;

/// What a figure must be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {least}"),
            Self::AtMost(most) => format!("at most {most}"),
        }
    }
}

/// One promised figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) target: String,
    pub(super) holds: bool,
}

impl Target {
    fn new(name: String, value: f64, bound: Bound) -> Self {
        // What is shown is what is judged.
        let value = (value * 1000.0).round() / 1000.0;
        Self { name, value, target: bound.text(), holds: bound.holds(value) }
    }
}

type Figure = (&'static str, fn(&Sample) -> f64);

const RATE: Figure = ("requests/s", |sample| sample.rate);
const CPU: Figure = ("workerd CPU/request", |sample| sample.cpu_us);

/// Quotients of sluice and another.
const QUOTIENTS: &[(Scenario, Figure, Contender, Bound)] = &[
    (Admitted, RATE, Upstash, Bound::AtLeast(2.0)),
    (Admitted, RATE, Script, Bound::AtLeast(1.15)),
    (Admitted, RATE, Pass, Bound::AtLeast(0.5)),
    (Admitted, CPU, Upstash, Bound::AtMost(0.5)),
    (Admitted, CPU, Script, Bound::AtMost(0.8)),
    (Admitted, CPU, Pass, Bound::AtMost(2.0)),
    (OverLimit, RATE, Verify, Bound::AtLeast(0.75)),
    (Duplicates, RATE, Verify, Bound::AtLeast(0.75)),
    (SoldOut, RATE, Verify, Bound::AtLeast(0.75)),
    (OverLimit, RATE, Upstash, Bound::AtLeast(1.2)),
    (Duplicates, RATE, Upstash, Bound::AtLeast(3.0)),
    (SoldOut, RATE, Upstash, Bound::AtLeast(6.0)),
];

/// All targets whose figures were measured.
pub(super) fn all(results: &Results) -> Vec<Target> {
    let mut targets = Vec::new();
    for (scenario, (what, figure), other, bound) in QUOTIENTS {
        if let Some(value) = quotient(results, *scenario, *other, figure) {
            let name = format!("{}: {what}, sluice / {other}", scenario.name());
            targets.push(Target::new(name, value, *bound));
        }
    }
    // The same requests: the quotient of the rates is the inverse of that of the times.
    if let Some(value) = quotient(results, Rush, Upstash, &RATE.1) {
        targets.push(Target::new("rush: total time, upstash / sluice".to_owned(), value, Bound::AtLeast(4.0)));
    }
    if let Some(commands) = &results.commands {
        let of = |contender| commands.admission.get(&contender).into_iter().flatten();
        let quotients = of(Sluice).zip(of(Upstash)).map(|(ours, theirs)| ours / theirs);
        if let Some(spread) = Spread::of(quotients) {
            let name = "redis: us/admission, sluice / upstash".to_owned();
            targets.push(Target::new(name, spread.median, Bound::AtMost(0.5)));
        }
    }
    if let Some(growth) = &results.growth {
        if let Some(value) = measure::ratio(&growth.many, &growth.few, |sample| sample.rate) {
            let name = format!("growth: requests/s, {} / 1000 subjects", growth.subjects);
            targets.push(Target::new(name, value, Bound::AtLeast(0.9)));
        }
        let name = format!("growth: bytes/subject, {} subjects", growth.subjects);
        targets.push(Target::new(name, growth.bytes, Bound::AtMost(160.0)));
    }
    if let Some(size) = results.size {
        let name = "size: wasm gzipped, bytes".to_owned();
        targets.push(Target::new(name, size.gzipped as f64, Bound::AtMost(200.0 * 1024.0)));
    }
    targets
}

fn quotient(results: &Results, scenario: Scenario, other: Contender, figure: &fn(&Sample) -> f64) -> Option<f64> {
    let rounds = results.flows.get(&scenario)?;
    measure::ratio(rounds.get(&Sluice)?, rounds.get(&other)?, figure)
}

/// The targets as one JSON object.
pub(super) fn json(targets: &[Target]) -> String {
    serde_json::json!({ "targets": targets }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Size;

    fn sample(rate: f64, cpu_us: f64) -> Sample {
        Sample { requests: 1, rate, p50_us: 0.0, p99_us: 0.0, cpu_us, redis: 0.0, origin: 0.0 }
    }

    #[test]
    fn a_target_is_met_at_its_bound() {
        assert!(Target::new(String::new(), 0.75, Bound::AtLeast(0.75)).holds);
        assert!(!Target::new(String::new(), 0.74, Bound::AtLeast(0.75)).holds);
        assert!(Target::new(String::new(), 2.0, Bound::AtMost(2.0)).holds);
        assert!(!Target::new(String::new(), 2.01, Bound::AtMost(2.0)).holds);
    }

    #[test]
    fn only_what_was_measured_is_told() {
        assert!(all(&Results::default()).is_empty());
        let mut results = Results { size: Some(Size { raw: 1, gzipped: 204_801 }), ..Results::default() };
        let rounds = [(Sluice, vec![sample(20.0, 5.0)]), (Upstash, vec![sample(10.0, 10.0)])];
        results.flows.insert(Admitted, rounds.into());
        let told = all(&results);
        let short: Vec<_> = told.iter().map(|target| (target.value, target.holds)).collect();
        assert_eq!(short, [(2.0, true), (0.5, true), (204_801.0, false)]);
    }

    #[test]
    fn the_targets_are_one_object_on_one_line() {
        let target = Target::new("size: wasm gzipped, bytes".to_owned(), 1.5, Bound::AtMost(2.0));
        let want =
            r#"{"targets":[{"holds":true,"name":"size: wasm gzipped, bytes","target":"at most 2","value":1.5}]}"#;
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(same(&json(&[target])), same(want));
        assert!(!json(&[]).contains('\n'));
    }
}
