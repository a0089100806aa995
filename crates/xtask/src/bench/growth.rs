//! Many live subjects in Redis: what each costs, and whether the gate gets slower.

use super::contender::Contender::Sluice;
use super::effort::Effort;
use super::field::Field;
use super::load::Until;
use super::measure::{Sample, Spread};
use super::orders::{Order, Press};
use crate::clock;
use crate::console::Step;
use anyhow::{Context, Result};
use sluice::digest::Tag;
use sluice::model::Partition;
use sluice::script::keys::Keyspace;
use std::path::Path;

const SKU: &str = "growth";
const FEW: u64 = 1_000;
/// Keys in one pipeline.
const BATCH: u64 = 5_000;
/// How long a subject lives: longer than a run.
const LIFE_MS: u64 = 3_600_000;
/// Most rounds: filling Redis takes longer than the runs.
const ROUNDS: u32 = 3;

/// What growth costs.
#[derive(Debug, Clone)]
pub(super) struct Growth {
    /// Live subjects of the large side.
    pub(super) subjects: u64,
    /// With 1,000 subjects, one a round.
    pub(super) few: Vec<Sample>,
    /// With many.
    pub(super) many: Vec<Sample>,
    /// Bytes of Redis' memory that a subject takes.
    pub(super) bytes: f64,
}

/// Compares both in turns.
pub(super) async fn run(field: &mut Field, effort: Effort) -> Result<Growth> {
    let step = Step::start("growth");
    let folder = field.stack().folder().to_path_buf();
    let count = u32::try_from(effort.seconds * 5_500).unwrap_or(u32::MAX);
    let orders: Vec<Order> = (0..count).map(Order::of).collect();
    let file = Press::new(field.stack().secrets(), &folder)?.print(SKU, SKU, &orders)?;
    let (mut few, mut many, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=effort.rounds.min(ROUNDS) {
        step.note(&format!("round {round}"));
        few.push(turn(field, FEW, &file, effort.seconds).await?.0);
        let (sample, each) = turn(field, effort.subjects, &file, effort.seconds).await?;
        many.push(sample);
        bytes.push(each);
    }
    step.done("done");
    let bytes = Spread::of(bytes).context("no round")?.median;
    Ok(Growth { subjects: effort.subjects, few, many, bytes })
}

async fn turn(field: &mut Field, subjects: u64, file: &Path, seconds: u64) -> Result<(Sample, f64)> {
    field.open(SKU, 100_000_000).await?;
    let before = used(field).await?;
    fill(field, subjects).await?;
    let bytes = used(field).await?.saturating_sub(before) as f64 / subjects as f64;
    let (sample, _) = field.run(Sluice, file, Until::Seconds(seconds), &[202]).await?;
    Ok((sample, bytes))
}

/// Buckets as `admit.lua` leaves them: the time at which they are full again.
async fn fill(field: &mut Field, subjects: u64) -> Result<()> {
    let (keys, full_at) = (Keyspace::default(), (clock::unix_ms() + LIFE_MS) * 1_000);
    for from in (0..subjects).step_by(usize::try_from(BATCH)?) {
        let mut pipe = redis::pipe();
        for n in from..subjects.min(from + BATCH) {
            // Spread over all tags, as hashes are.
            let tag =
                Tag::of_bytes(u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes());
            let key = keys.bucket(Partition(0), "user", &tag);
            pipe.cmd("SET").arg(key).arg(full_at + n).arg("PX").arg(LIFE_MS).ignore();
        }
        pipe.query_async::<()>(&mut field.redis).await?;
    }
    Ok(())
}

async fn used(field: &mut Field) -> Result<u64> {
    let info: String = redis::cmd("INFO").arg("memory").query_async(&mut field.redis).await?;
    used_memory(&info).context("INFO does not tell used_memory")
}

fn used_memory(info: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix("used_memory:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_used_memory_is_found() {
        assert_eq!(used_memory("# Memory\r\nused_memory:1234\r\nused_memory_human:1K\r\n"), Some(1234));
        assert_eq!(used_memory("used_memory_human:1K"), None);
    }
}
