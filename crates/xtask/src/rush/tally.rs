//! What all users saw, counted.

use super::click::Answer;
use super::plan::Kind;
use super::shopper::Visit;
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Sums over all visits.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) users: u64,
    pub(super) honest: u64,
    pub(super) attempts: u64,
    pub(super) requests: u64,
    pub(super) admitted: u64,
    pub(super) limited: u64,
    pub(super) replayed_or_in_progress: u64,
    pub(super) token_refused: u64,
    pub(super) sold_out: u64,
    /// Users that never came to a final answer.
    pub(super) unfinished: u64,
    /// Order ids that the edge gave, by user.
    pub(super) orders: BTreeMap<String, BTreeSet<String>>,
    /// Users without a valid token.
    pub(super) dishonest: BTreeSet<String>,
    /// Dishonest users who got any other answer than a refusal of their token.
    pub(super) not_refused: u64,
    /// Anything unexpected, counted by its text.
    pub(super) other: BTreeMap<String, u64>,
    latencies: Option<Histogram<u64>>,
}

/// The longest latency that is told apart: ten minutes, in microseconds.
const LONGEST_US: u64 = 600_000_000;

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            users: 0,
            honest: 0,
            attempts: 0,
            requests: 0,
            admitted: 0,
            limited: 0,
            replayed_or_in_progress: 0,
            token_refused: 0,
            sold_out: 0,
            unfinished: 0,
            orders: BTreeMap::new(),
            dishonest: BTreeSet::new(),
            not_refused: 0,
            other: BTreeMap::new(),
            latencies: Histogram::new_with_bounds(1, LONGEST_US, 3).ok(),
        }
    }

    pub(super) fn add(&mut self, visit: &Visit) {
        self.users += 1;
        self.requests += visit.requests;
        self.limited += visit.tokens_limited;
        self.unfinished += u64::from(!visit.finished);
        if visit.kind == Kind::Honest {
            self.honest += 1;
        } else {
            self.dishonest.insert(visit.user.clone());
            let refused =
                |(answer, _): &(Answer, Duration)| matches!(answer, Answer::TokenRefused(_)) || answer.is_passing();
            self.not_refused += u64::from(!visit.answers.iter().all(refused));
        }
        for fault in &visit.faults {
            self.count_other(fault);
        }
        for (answer, latency) in &visit.answers {
            self.answer(&visit.user, answer, *latency);
        }
    }

    fn answer(&mut self, user: &str, answer: &Answer, latency: Duration) {
        self.attempts += 1;
        if let Some(latencies) = &mut self.latencies {
            latencies.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
        }
        match answer {
            Answer::Accepted(id) => {
                self.admitted += 1;
                self.orders.entry(user.to_owned()).or_default().insert(id.clone());
            }
            Answer::Replayed(id) => {
                self.replayed_or_in_progress += 1;
                self.orders.entry(user.to_owned()).or_default().insert(id.clone());
            }
            Answer::InProgress => self.replayed_or_in_progress += 1,
            Answer::Limited => self.limited += 1,
            Answer::TokenRefused(_) => self.token_refused += 1,
            Answer::SoldOut => self.sold_out += 1,
            Answer::Busy => self.count_other("busy (502, 503, 504)"),
            Answer::Other(text) => self.count_other(text),
        }
    }

    fn count_other(&mut self, text: &str) {
        *self.other.entry(text.to_owned()).or_default() += 1;
    }

    /// The latency below which this share of the order requests stays, in microseconds.
    pub(super) fn quantile(&self, quantile: f64) -> u64 {
        self.latencies.as_ref().map_or(0, |latencies| latencies.value_at_quantile(quantile))
    }

    /// For the progress bar.
    pub(super) fn progress(&self) -> String {
        format!("accepted {}  sold out {}  limited {}", self.admitted, self.sold_out, self.limited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut tally = Tally::new();
        for ms in 1..=100 {
            tally.answer("u", &Answer::SoldOut, Duration::from_millis(ms));
        }
        assert!((49_900..=50_100).contains(&tally.quantile(0.5)), "{}", tally.quantile(0.5));
        assert!((98_900..=99_100).contains(&tally.quantile(0.99)), "{}", tally.quantile(0.99));
    }

    #[test]
    fn a_dishonest_user_must_be_refused_each_time() {
        let visit = |kind, answers| Visit {
            user: "u".into(),
            kind,
            answers,
            tokens_limited: 0,
            requests: 2,
            faults: Vec::new(),
            finished: true,
        };
        let refused = || (Answer::TokenRefused("token_invalid".into()), Duration::ZERO);
        let mut tally = Tally::new();
        tally.add(&visit(Kind::Forged, vec![refused(), refused()]));
        assert_eq!((tally.token_refused, tally.not_refused), (2, 0));
        tally.add(&visit(Kind::Expired, vec![refused(), (Answer::SoldOut, Duration::ZERO)]));
        assert_eq!(tally.not_refused, 1);
    }
}
