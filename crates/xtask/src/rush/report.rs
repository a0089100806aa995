//! The result: one JSON object, or a table.

#![allow(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "figures for people, not for decisions")]

use super::books::Books;
use super::invariants::Verdict;
use super::tally::Tally;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::time::Duration;

/// The names in the object, in its order.
const FIELDS: [&str; 15] = [
    "attempts",
    "admitted",
    "limited",
    "replayed_or_in_progress",
    "token_refused",
    "sold_out",
    "sold",
    "settled",
    "oversold",
    "undersold",
    "duplicate_orders",
    "p50_ms",
    "p99_ms",
    "rps",
    "seconds",
];

/// The object that `--json` prints. The names are a contract.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    attempts: u64,
    admitted: u64,
    limited: u64,
    replayed_or_in_progress: u64,
    token_refused: u64,
    sold_out: u64,
    sold: i64,
    settled: i64,
    oversold: i64,
    undersold: i64,
    duplicate_orders: i64,
    p50_ms: f64,
    p99_ms: f64,
    rps: f64,
    seconds: f64,
    #[serde(skip)]
    extra: Vec<(String, String)>,
}

impl Report {
    pub(super) fn new(tally: &Tally, books: &Books, verdict: &Verdict, took: Duration) -> Self {
        let seconds = took.as_secs_f64();
        let mut extra = vec![
            ("users".to_owned(), tally.users.to_string()),
            ("stock left (Redis, SQL)".to_owned(), format!("{}, {}", books.redis_stock, books.sql_stock)),
            ("ledger rows".to_owned(), books.ledger.len().to_string()),
        ];
        extra.extend(tally.other.iter().map(|(text, count)| (text.clone(), count.to_string())));
        Self {
            attempts: tally.attempts,
            admitted: tally.admitted,
            limited: tally.limited,
            replayed_or_in_progress: tally.replayed_or_in_progress,
            token_refused: tally.token_refused,
            sold_out: tally.sold_out,
            sold: verdict.sold,
            settled: verdict.settled,
            oversold: verdict.oversold,
            undersold: verdict.undersold,
            duplicate_orders: verdict.duplicate_orders,
            p50_ms: millis(tally.quantile(0.50)),
            p99_ms: millis(tally.quantile(0.99)),
            rps: rounded(tally.requests as f64 / seconds.max(0.001)),
            seconds: rounded(seconds),
            extra,
        }
    }

    /// The same for people, with what the JSON leaves out.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_BORDERS_ONLY);
        let fields = serde_json::to_value(self).unwrap_or_default();
        for name in FIELDS {
            let value = fields.get(name).map(ToString::to_string);
            table.add_row([name.replace('_', " "), value.unwrap_or_default()]);
        }
        for (name, value) in &self.extra {
            table.add_row([shortened(name), value.clone()]);
        }
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.to_string()
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

fn millis(micros: u64) -> f64 {
    rounded(micros as f64 / 1000.0)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_exactly_the_fields_of_the_contract() {
        let report = Report::new(&Tally::new(), &Books::default(), &Verdict::default(), Duration::from_secs(1));
        let json = serde_json::to_string(&report).unwrap();
        assert!(!json.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().unwrap().len(), FIELDS.len());
        let places: Vec<usize> = FIELDS.iter().map(|name| json.find(&format!("\"{name}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{json}");
    }

    #[test]
    fn the_table_names_the_figures() {
        let report = Report::new(&Tally::new(), &Books::default(), &Verdict::default(), Duration::from_secs(1));
        assert!(report.table().contains("duplicate orders"));
    }
}
