//! One chart: a bar a contender, with the spread of its rounds.

use super::measure::Spread;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

const WIDTH: u32 = 760;
const ROW: i32 = 34;
const TOP: i32 = 48;
/// Where bars begin, and how long the longest is.
const LEFT: i32 = 290;
const LONGEST: i32 = 360;
const OURS: RGBColor = RGBColor(0x1f, 0x77, 0xb4);
const THEIRS: RGBColor = RGBColor(0xb0, 0xb8, 0xc1);

/// Draws the medians as bars, the first one in a colour of its own, and the spreads as lines.
pub(super) fn draw(path: &Path, title: &str, bars: &[(&str, Spread)]) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| anyhow!("cannot draw {}: {error}", path.display());
    let most = bars.iter().map(|(_, spread)| spread.high).fold(f64::MIN_POSITIVE, f64::max);
    let rows = i32::try_from(bars.len())?;
    let area = SVGBackend::new(path, (WIDTH, u32::try_from(TOP + rows * ROW + 12)?)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    let text =
        |text: String, at: (i32, i32), size: i32| Text::new(text, at, ("sans-serif", size).into_font().color(&BLACK));
    area.draw(&text(title.to_owned(), (16, 14), 18)).map_err(|error| failed(&error))?;
    for ((name, spread), row) in bars.iter().zip(0..) {
        let top = TOP + row * ROW;
        let colour = if row == 0 { OURS } else { THEIRS };
        let end = |value: f64| LEFT + length(value, most);
        let bar = Rectangle::new([(LEFT, top), (end(spread.median), top + 20)], colour.filled());
        let line =
            PathElement::new(vec![(end(spread.low), top + 10), (end(spread.high), top + 10)], BLACK.stroke_width(1));
        area.draw(&bar).map_err(|error| failed(&error))?;
        area.draw(&line).map_err(|error| failed(&error))?;
        area.draw(&text((*name).to_owned(), (16, top + 3), 14)).map_err(|error| failed(&error))?;
        let value = format!("{:.0}", spread.median);
        area.draw(&text(value, (end(spread.high) + 8, top + 3), 14)).map_err(|error| failed(&error))?;
    }
    area.present().map_err(|error| failed(&error))
}

#[allow(clippy::cast_possible_truncation, reason = "at most LONGEST")]
fn length(value: f64, most: f64) -> i32 {
    (value / most * f64::from(LONGEST)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_each_contender_and_its_figure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chart.svg");
        let spread = |median: f64| Spread { low: median * 0.9, median, high: median * 1.1 };
        draw(&path, "admitted", &[("(a) sluice", spread(2000.0)), ("(b) other", spread(1000.0))]).unwrap();
        let svg = std::fs::read_to_string(path).unwrap();
        for word in ["admitted", "(a) sluice", "2000", "(b) other", "1000"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
    }

    #[test]
    fn the_largest_value_has_the_longest_bar() {
        assert_eq!((length(5.0, 10.0), length(10.0, 10.0), length(0.0, 10.0)), (180, 360, 0));
    }
}
