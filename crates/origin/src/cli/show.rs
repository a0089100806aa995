//! What a tool prints: a table for people, JSON for programs.

use std::io::Write as _;

use comfy_table::{Cell, CellAlignment, Table, presets};
use serde::Serialize;
use sluice::model::Millis;

use super::when::shown;
use crate::ops::sale::Row;

/// All sales, one a line.
pub(super) fn list(rows: &[Row]) -> anyhow::Result<()> {
    if rows.is_empty() {
        return line("There are no sales yet. `sluice-origin sale create --help` says how to make one.");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["sku", "title", "state", "price", "left", "of", "unsettled", "starts", "ends"]);
    for row in rows {
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row(vec![
            Cell::new(&row.sku),
            Cell::new(&row.title),
            Cell::new(row.state),
            right(format!("{} {}", row.price, row.currency)),
            right(left(row)),
            right(row.initial.to_string()),
            right(
                row.redis_stock.map_or_else(|| "-".to_owned(), |left| row.sql_stock.saturating_sub(left).to_string()),
            ),
            Cell::new(shown(Millis(row.starts_at))),
            Cell::new(shown(Millis(row.ends_at))),
        ]);
    }
    line(&table.to_string())
}

fn left(row: &Row) -> String {
    row.redis_stock.map_or_else(|| "-".to_owned(), |left| left.to_string())
}

/// One sale, a line for each thing.
pub(super) fn one(row: &Row) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value) in [
        ("sku", row.sku.clone()),
        ("title", row.title.clone()),
        ("state", row.state.to_owned()),
        ("price", format!("{} {} (smallest unit)", row.price, row.currency)),
        ("for each user", row.per_user.to_string()),
        ("first stock", row.initial.to_string()),
        ("left in Redis", left(row)),
        ("left in SQL", row.sql_stock.to_string()),
        ("starts", shown(Millis(row.starts_at))),
        ("ends", shown(Millis(row.ends_at))),
        ("partition", row.partition.to_string()),
    ] {
        table.add_row([name.to_owned(), value]);
    }
    line(&table.to_string())
}

/// Names and values, a line for each.
pub(super) fn fields(lines: &[(&str, String)]) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        table.add_row([*name, value]);
    }
    line(&table.to_string())
}

/// A table, or a sentence where it has no rows.
pub(super) fn rows(header: &[&str], rows: impl Iterator<Item = Vec<String>>, none: &str) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    if table.is_empty() { line(none) } else { line(&table.to_string()) }
}

/// JSON on one line.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// A line on stdout.
pub(super) fn line(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}
