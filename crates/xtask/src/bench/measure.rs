//! The arithmetic: what one run measured, medians, spreads and ratios.

use serde::Serialize;

/// One contender's run of one round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Sample {
    /// Answered requests.
    pub(super) requests: u64,
    /// Answered requests a second.
    pub(super) rate: f64,
    /// Latency that half of them did not exceed, µs; 0 where it was not measured.
    pub(super) p50_us: f64,
    /// Latency that 99 of 100 did not exceed, µs; 0 where it was not measured.
    pub(super) p99_us: f64,
    /// Processor time of the workerd process a request, µs.
    pub(super) cpu_us: f64,
    /// HTTP requests to Redis a request.
    pub(super) redis: f64,
    /// HTTP requests to the origin a request.
    pub(super) origin: f64,
}

/// A median and how far the values lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

impl Spread {
    /// Of these values; `None` of none.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median = if sorted.len() % 2 == 1 { upper } else { (upper + *sorted.get(middle - 1)?) / 2.0 };
        Some(Self { low, median, high })
    }
}

/// The median of the quotients of each round: what else the machine did in a round falls on both sides of one.
pub(super) fn ratio(ours: &[Sample], theirs: &[Sample], figure: impl Fn(&Sample) -> f64) -> Option<f64> {
    let quotient = |(ours, theirs): (&Sample, &Sample)| {
        let below = figure(theirs);
        (below > 0.0).then(|| figure(ours) / below)
    };
    let quotients: Option<Vec<f64>> = ours.iter().zip(theirs).map(quotient).collect();
    Spread::of(quotients?).map(|spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rate: f64) -> Sample {
        Sample { requests: 1, rate, p50_us: 0.0, p99_us: 0.0, cpu_us: 0.0, redis: 0.0, origin: 0.0 }
    }

    #[test]
    fn a_median_is_the_middle_or_half_way_between_two() {
        let median = |values: &[f64]| Spread::of(values.iter().copied()).map(|spread| spread.median);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(Spread::of([5.0, 1.0]), Some(Spread { low: 1.0, median: 3.0, high: 5.0 }));
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_and_not_of_the_sides() {
        let ours = [10.0, 40.0, 90.0].map(sample);
        let theirs = [5.0, 10.0, 30.0].map(sample);
        assert_eq!(ratio(&ours, &theirs, |sample| sample.rate), Some(3.0));
        assert_eq!(ratio(&ours, &[0.0].map(sample), |sample| sample.rate), None);
        assert_eq!(ratio(&[], &theirs, |sample| sample.rate), None);
    }
}
