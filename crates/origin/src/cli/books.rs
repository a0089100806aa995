//! `sluice-origin reconcile` and `recover`.

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use sluice::model::{Millis, Sku};

use super::sale::{Wanted, sku};
use super::show;
use super::when;
use crate::ops::{reconcile, recover};

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    #[command(flatten)]
    wanted: Wanted,
    /// Sets the stock of this sale in Redis to what SQL says: the sale is paused meanwhile.
    #[arg(long, value_parser = sku)]
    repair: Option<Sku>,
    /// How long a repair may wait for orders that are on their way into SQL.
    #[arg(long, default_value = "2m", value_parser = when::span)]
    wait: Millis,
}

/// Arguments of `recover`.
#[derive(Debug, Args)]
pub(super) struct Recover {
    #[command(flatten)]
    wanted: Wanted,
    /// How long to wait for what the stream still holds; entries of a dead process are taken over after a minute.
    #[arg(long, default_value = "3m", value_parser = when::span)]
    wait: Millis,
}

impl Reconcile {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let app = self.wanted.open().await?;
        if let Some(sku) = &self.repair {
            reconcile::repair(&app, sku, Duration::from_millis(self.wait.0)).await?;
        }
        let report = reconcile::check(&app).await?;
        if self.wanted.json {
            show::json(&report)?;
        } else {
            let number = |n: Option<i64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let rows = report.sales.iter().map(|b| {
                let word = if b.agrees { "agrees" } else { "DIFFERS" };
                let numbers = [b.sql_stock, b.unsettled, b.owed, b.expected].map(|n| n.to_string());
                let difference = format!("{:+} (±{})", b.difference, b.tolerance);
                [vec![b.sku.clone()], numbers.to_vec(), vec![number(b.redis_stock), difference, word.to_owned()]]
                    .concat()
            });
            let header = ["sku", "SQL", "not settled", "owed", "expected", "Redis", "difference", ""];
            show::rows(&header, rows, "No sale is in Redis.")?;
            let broken = report.ledger_breaks.iter().map(|b| format!("{} {}: {}", b.sku, b.log_no, b.what));
            for line in broken {
                show::line(&format!("The ledger is broken: {line}"))?;
            }
        }
        ensure!(report.agrees, "the books do not agree");
        Ok(())
    }
}

impl Recover {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let mut config = self.wanted.config();
        config.consumer = format!("recover-{}", ulid::Ulid::generate().to_string());
        let app = crate::app::App::open(config).await?;
        let report = recover::run(&app, false, Duration::from_millis(self.wait.0)).await?;
        if self.wanted.json {
            return show::json(&report);
        }
        let rows = report.sales.iter().map(|line| {
            let before = line.stock_before.map_or_else(|| "lost".to_owned(), |n| n.to_string());
            let numbers = [line.buyers, line.requests].map(|n| n.to_string());
            [vec![line.sku.clone(), before, line.stock.to_string()], numbers.to_vec(), vec![line.status.to_owned()]]
                .concat()
        });
        let header = ["sku", "stock before", "stock", "buyers", "requests", "status"];
        show::rows(&header, rows, "No sale is to be in Redis.")?;
        for gap in report.partitions.iter().filter(|gap| gap.missing > 0) {
            show::line(&format!(
                "Partition {}: {} of the numbers up to {} lead to no order. They were accepted and lost with Redis, or were second orders of one operation.",
                gap.partition, gap.missing, gap.highest_seq
            ))?;
        }
        Ok(())
    }
}
