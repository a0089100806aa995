//! Carries out the faults of a schedule.

use super::audit::{self, Auditor};
use super::judge::Loss;
use super::schedule::{Fault, What};
use super::shop::{BACK, SKU, Shop, connect};
use super::wire::Mode;
use crate::stack::Part;
use crate::{clock, console};
use anyhow::{Context, Result, bail};
use sea_orm::ConnectionTrait;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Breaks what the fault says, waits and mends it. What Redis lost, where it did.
pub(super) async fn suffer(shop: &Shop, auditor: &Auditor, fault: Fault, begun: Instant) -> Result<Option<Loss>> {
    tokio::time::sleep(Duration::from_millis(fault.at)).await;
    let lasts = Duration::from_millis(fault.lasts);
    match fault.what {
        What::KillOrigin(number) | What::EndOrigin(number) => {
            let process = shop.origin(number)?;
            shop.keep_down(number, true);
            if matches!(fault.what, What::KillOrigin(_)) {
                process.kill();
            } else {
                tokio::task::block_in_place(|| process.stop());
            }
            tokio::time::sleep(lasts).await;
            shop.keep_down(number, false);
        }
        What::StopOrigin(number) => {
            // Where it has just ended by itself, there is nothing to stop.
            if shop.origin(number)?.pause().is_ok() {
                tokio::time::sleep(lasts).await;
                shop.origin(number)?.resume()?;
            }
        }
        What::KillRedis => {
            shop.stack.kill(Part::Redis)?;
            tokio::time::sleep(lasts).await;
            start_redis(shop).await?;
        }
        What::FlushRedis | What::WipeRedis | What::RollBackRedis => {
            return lose(shop, auditor, fault.what, lasts, begun).await.map(Some);
        }
        What::SilenceSql => sql(shop, Mode::Silent, lasts).await?,
        What::CutSql => sql(shop, Mode::Cut, lasts).await?,
    }
    Ok(None)
}

async fn start_redis(shop: &Shop) -> Result<()> {
    shop.stack.process(Part::Redis)?.spawn()?;
    shop.stack.until_ready(Part::Redis).await
}

async fn sql(shop: &Shop, mode: Mode, lasts: Duration) -> Result<()> {
    if let Some(wire) = &shop.wire {
        wire.set(mode);
        tokio::time::sleep(lasts).await;
        wire.set(Mode::Open);
        return Ok(());
    }
    let lock = connect(&shop.database).await?;
    lock.execute_unprepared("PRAGMA busy_timeout = 30000").await?;
    lock.execute_unprepared("BEGIN IMMEDIATE").await?;
    tokio::time::sleep(lasts).await;
    lock.execute_unprepared("COMMIT").await?;
    lock.close().await?;
    Ok(())
}

/// Redis loses all or its tail, and is recovered.
async fn lose(shop: &Shop, auditor: &Auditor, how: What, lasts: Duration, begun: Instant) -> Result<Loss> {
    let folder = shop.stack.folder().join("redis");
    let kept = (how == What::RollBackRedis).then(|| copy_of(&folder)).transpose()?;
    if kept.is_some() {
        tokio::time::sleep(lasts).await;
    }
    let (numbers, orders) = auditor.before_a_loss().await?;
    if how == What::FlushRedis {
        let mut redis = audit::connect(&redis::Client::open(shop.stack.redis_url())?).await?;
        redis::cmd("FLUSHALL").query_async::<()>(&mut redis).await?;
    } else {
        shop.stack.kill(Part::Redis)?;
        std::fs::remove_dir_all(folder.join(FILES))?;
        if let Some(kept) = &kept {
            std::fs::rename(kept, folder.join(FILES))?;
        }
        if how == What::WipeRedis {
            tokio::time::sleep(lasts).await;
        }
        start_redis(shop).await?;
    }
    let report = recover(shop).await?;
    let partition = report.pointer("/partitions/0").context("the recovery reported no partition")?;
    let number = |field: &str| partition.get(field).and_then(Value::as_u64).unwrap_or(0);
    Ok(Loss {
        until: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        kept: orders.into_iter().collect(),
        numbers,
        highest_seq: number("highest_seq"),
        missing: number("missing"),
    })
}

/// Where Redis keeps its append-only file, in its folder.
const FILES: &str = "appendonlydir";

/// A copy of Redis' file as it is at this moment; its end may be half a command, as after a power failure.
fn copy_of(folder: &Path) -> Result<PathBuf> {
    let to = folder.join("kept");
    std::fs::create_dir_all(&to)?;
    for file in std::fs::read_dir(folder.join(FILES))? {
        let file = file?;
        std::fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(to)
}

/// `sluice-origin recover`, again and again while what it needs is away.
async fn recover(shop: &Shop) -> Result<Value> {
    let deadline = clock::now() + BACK;
    loop {
        match shop.stack.origin_tool(&["recover", "--json", "--wait=20s"]).await {
            Ok(report) => {
                let report: Value = serde_json::from_str(&report).context("the recovery's report is no JSON")?;
                // A recovery that broke off has paused the sale, and the next one leaves it as it finds it.
                if report.pointer("/sales/0/status").and_then(Value::as_str) == Some("paused") {
                    resume(shop, deadline).await?;
                }
                return Ok(report);
            }
            Err(error) if clock::now() >= deadline => bail!("no recovery: {error:#}"),
            Err(error) => {
                console::say(&format!("a recovery broke off and is tried again: {error:#}"));
                tokio::time::sleep(clock::POLL * 10).await;
            }
        }
    }
}

/// `sluice-origin sale resume`, as its operator would.
async fn resume(shop: &Shop, deadline: Instant) -> Result<()> {
    loop {
        match shop.stack.origin_tool(&["sale", "resume", SKU]).await {
            Ok(_) => return Ok(()),
            Err(error) if clock::now() >= deadline => bail!("the sale is not resumed: {error:#}"),
            Err(_) => tokio::time::sleep(clock::POLL * 10).await,
        }
    }
}
