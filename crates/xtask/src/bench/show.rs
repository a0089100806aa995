//! The results as tables: for the terminal, and in Markdown for the report.

use super::cold;
use super::contender::Contender;
use super::measure::{Sample, Spread};
use super::results::Results;
use super::scenario::Rounds;
use super::target::Target;
use comfy_table::{Table, presets};

/// Heads and rows of one table.
pub(super) struct Sheet {
    /// What it shows.
    pub(super) title: String,
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// All tables, for people.
pub(super) fn text(results: &Results, targets: &[Target]) -> String {
    let mut sheets = sheets(results);
    sheets.push(promised(targets));
    let show = |sheet: Sheet| {
        let mut table = Table::new();
        table.load_style(presets::UTF8_BORDERS_ONLY).set_header(sheet.heads).add_rows(sheet.rows);
        format!("\n{}\n{table}", sheet.title)
    };
    sheets.into_iter().map(show).collect::<Vec<_>>().join("\n")
}

/// What was measured.
pub(super) fn sheets(results: &Results) -> Vec<Sheet> {
    let mut sheets: Vec<Sheet> = results.flows.iter().map(|(scenario, rounds)| flow(scenario.name(), rounds)).collect();
    sheets.extend(results.cold.as_ref().map(starts));
    if let Some(growth) = &results.growth {
        let many = format!("{} subjects", growth.subjects);
        let rows = [("1000 subjects", &growth.few), (many.as_str(), &growth.many)];
        let rows = rows.map(|(name, samples)| [vec![name.to_owned()], figures(samples)].concat());
        let title = format!("growth: {:.0} bytes of Redis' memory a subject", growth.bytes);
        sheets.push(Sheet { title, heads: heads("live in Redis"), rows: rows.into() });
    }
    if let Some(commands) = &results.commands {
        let row = |name: &str, values: &[f64]| vec![name.to_owned(), spread(values.iter().copied(), 2)];
        let mut rows: Vec<_> = commands.admission.iter().map(|(who, values)| row(who.title(), values)).collect();
        rows.push(row("a bare SET NX PX of a claim's length", &commands.bare));
        sheets
            .push(Sheet { title: "redis".to_owned(), heads: vec!["an admission", "µs of Redis (low–high)"], rows });
    }
    if let Some(size) = results.size {
        let rows = vec![vec![size.raw.to_string(), size.gzipped.to_string()]];
        sheets.push(Sheet { title: "size".to_owned(), heads: vec!["wasm, bytes", "gzipped"], rows });
    }
    sheets
}

/// The targets.
pub(super) fn promised(targets: &[Target]) -> Sheet {
    let row = |target: &Target| {
        let holds = if target.holds { "yes" } else { "no" };
        vec![target.name.clone(), target.value.to_string(), target.target.clone(), holds.to_owned()]
    };
    let rows = targets.iter().map(row).collect();
    Sheet { title: "targets".to_owned(), heads: vec!["figure", "measured", "target", "holds"], rows }
}

fn flow(name: &str, rounds: &Rounds) -> Sheet {
    let row = |(contender, samples): (&Contender, &Vec<Sample>)| {
        [vec![contender.title().to_owned()], figures(samples)].concat()
    };
    Sheet { title: name.to_owned(), heads: heads("contender"), rows: rounds.iter().map(row).collect() }
}

fn heads(first: &'static str) -> Vec<&'static str> {
    vec![first, "requests/s (low–high)", "p50 ms", "p99 ms", "workerd CPU µs", "to Redis", "to origin"]
}

fn figures(samples: &[Sample]) -> Vec<String> {
    let of = |figure: fn(&Sample) -> f64, digits| middle(samples.iter().map(figure), digits);
    // Not measured where the whole rush was timed.
    let latency = |figure: fn(&Sample) -> f64| {
        let known = samples.iter().map(figure).filter(|us| *us > 0.0);
        Spread::of(known).map_or_else(|| "-".to_owned(), |spread| format!("{:.1}", spread.median / 1e3))
    };
    vec![
        spread(samples.iter().map(|sample| sample.rate), 0),
        latency(|sample| sample.p50_us),
        latency(|sample| sample.p99_us),
        of(|sample| sample.cpu_us, 0),
        of(|sample| sample.redis, 2),
        of(|sample| sample.origin, 2),
    ]
}

fn starts(starts: &cold::Starts) -> Sheet {
    let row = |(contender, starts): (&Contender, &Vec<cold::Start>)| {
        let ms = |figure: fn(&cold::Start) -> f64| spread(starts.iter().map(figure), 1);
        vec![contender.title().to_owned(), ms(|start| start.listens_ms), ms(|start| start.first_ms)]
    };
    let heads = vec!["contender", "until workerd listens, ms", "first order, ms (low–high)"];
    Sheet { title: "cold".to_owned(), heads, rows: starts.iter().map(row).collect() }
}

fn middle(values: impl IntoIterator<Item = f64>, digits: usize) -> String {
    Spread::of(values).map_or_else(String::new, |spread| format!("{:.digits$}", spread.median))
}

fn spread(values: impl IntoIterator<Item = f64>, digits: usize) -> String {
    let show = |Spread { low, median, high }| format!("{median:.digits$} ({low:.digits$}–{high:.digits$})");
    Spread::of(values).map_or_else(String::new, show)
}
