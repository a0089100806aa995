//! Redis' own time a decision, by its `commandstats`, while the origin leaves Redis alone.

use super::contender::Contender::{self, Script, Sluice, Upstash};
use super::effort::Effort;
use super::field::Field;
use super::load::Until;
use super::orders::{Order, Press};
use crate::console::Step;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

const SKU: &str = "redis";
const CONTENDERS: [Contender; 3] = [Sluice, Upstash, Script];
/// SETs of the bare measurement, and how many of them go in one pipeline.
const BARE: usize = 30_000;
const BATCH: usize = 1_000;

/// Microseconds of Redis.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands {
    /// An admission, one a round.
    pub(super) admission: BTreeMap<Contender, Vec<f64>>,
    /// A bare `SET … NX PX` of a claim's length, one a round.
    pub(super) bare: Vec<f64>,
}

/// Calls and microseconds of one command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stat {
    calls: u64,
    usec: u64,
}

/// Measures in turns.
pub(super) async fn run(field: &mut Field, effort: Effort) -> Result<Commands> {
    let step = Step::start("redis");
    let folder = field.stack().folder().to_path_buf();
    let count = u32::try_from(effort.seconds * 5_500).unwrap_or(u32::MAX);
    let orders: Vec<Order> = (0..count).map(Order::of).collect();
    let file = Press::new(field.stack().secrets(), &folder)?.print(SKU, SKU, &orders)?;
    let mut commands = Commands::default();
    field.keep_orders(false).await?;
    let outcome = rounds(field, effort, &file, &mut commands, &step).await;
    field.keep_orders(true).await?;
    outcome?;
    step.done("done");
    Ok(commands)
}

async fn rounds(field: &mut Field, effort: Effort, file: &Path, commands: &mut Commands, step: &Step) -> Result<()> {
    for round in 1..=effort.rounds {
        for contender in CONTENDERS {
            step.note(&format!("round {round}, {contender}"));
            field.open(SKU, 100_000_000).await?;
            forget(field).await?;
            let (sample, _) = field.run(contender, file, Until::Seconds(effort.seconds), &[202]).await?;
            let stats = stats(field).await?;
            // What scripts call is counted again under its own name, so only what clients call is added.
            let direct: &[&str] = if contender == Upstash { &["evalsha", "eval", "set"] } else { &["evalsha", "eval"] };
            let usec: u64 = direct.iter().filter_map(|name| stats.get(*name)).map(|stat| stat.usec).sum();
            commands.admission.entry(contender).or_default().push(usec as f64 / sample.requests as f64);
        }
        commands.bare.push(bare(field).await?);
    }
    Ok(())
}

async fn bare(field: &mut Field) -> Result<f64> {
    field.open(SKU, 1).await?;
    forget(field).await?;
    let record = "r".repeat(90);
    for from in (0..BARE).step_by(BATCH) {
        let mut pipe = redis::pipe();
        for n in from..from + BATCH {
            pipe.cmd("SET").arg(format!("{{p0}}:claim:{n:022}")).arg(&record).arg("NX").arg("PX").arg(40_000).ignore();
        }
        pipe.query_async::<()>(&mut field.redis).await?;
    }
    let set = *stats(field).await?.get("set").context("no SET was counted")?;
    Ok(set.usec as f64 / set.calls as f64)
}

async fn forget(field: &mut Field) -> Result<()> {
    Ok(redis::cmd("CONFIG").arg("RESETSTAT").query_async::<()>(&mut field.redis).await?)
}

async fn stats(field: &mut Field) -> Result<BTreeMap<String, Stat>> {
    let info: String = redis::cmd("INFO").arg("commandstats").query_async(&mut field.redis).await?;
    Ok(read(&info))
}

/// `cmdstat_set:calls=3,usec=9,usec_per_call=3.00,…`
fn read(info: &str) -> BTreeMap<String, Stat> {
    let row = |line: &str| {
        let (name, fields) = line.strip_prefix("cmdstat_")?.split_once(':')?;
        let field = |wanted: &str| {
            let found = fields.split(',').find_map(|field| field.strip_prefix(wanted)?.strip_prefix('='));
            found?.trim().parse::<u64>().ok()
        };
        Some((name.to_owned(), Stat { calls: field("calls")?, usec: field("usec")? }))
    };
    info.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistics_of_commands_are_read() {
        let info = "# Commandstats\r
cmdstat_set:calls=3,usec=9,usec_per_call=3.00,rejected_calls=0,failed_calls=0\r
cmdstat_config|resetstat:calls=1,usec=20,usec_per_call=20.00,rejected_calls=0,failed_calls=0\r
nonsense\r
";
        let stats = read(info);
        assert_eq!(stats.get("set"), Some(&Stat { calls: 3, usec: 9 }));
        assert_eq!(stats.len(), 2);
    }
}
