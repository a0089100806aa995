//! `sluice-origin sale …`.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use sluice::model::{Millis, Sku};
use sluice::script::preheat::Terms;

use super::Stores;
use super::show::{self, Row};
use super::when::{self, When};
use crate::app::App;
use crate::config::Config;
use crate::domain::sale::{Sale, Status};
use crate::ops::sale as ops;
use crate::outbox;
use crate::sql::sales::Listed;

/// A sale without an end lasts so long.
const DEFAULT_LENGTH: Millis = Millis::from_secs(30 * 24 * 3600);
/// 9999-12-31: beyond it dates are not what anybody means.
const TOO_FAR: u64 = 253_402_300_800_000;
/// The tools verify no assertion.
const NO_SECRET: &str = "this-process-verifies-no-assertion";

/// Arguments of `sale`.
#[derive(Debug, Args)]
pub(super) struct SaleArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Creates a sale: SQL first, then Redis.
    Create(Box<Create>),
    /// Lists all sales.
    List(Wanted),
    /// Shows one sale.
    Show {
        /// The sale.
        #[arg(value_parser = sku)]
        sku: Sku,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Refuses orders until it is resumed.
    Pause {
        /// The sale.
        #[arg(value_parser = sku)]
        sku: Sku,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Ends the sale for good.
    Close {
        /// The sale.
        #[arg(value_parser = sku)]
        sku: Sku,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Adds units, also while it sells.
    Restock(Restock),
    /// Changes times, price or quota, also while it sells.
    Reschedule(Reschedule),
    /// Takes orders again.
    Resume {
        /// The sale.
        #[arg(value_parser = sku)]
        sku: Sku,
        #[command(flatten)]
        wanted: Wanted,
    },
}

/// Where the data is, and how it is told.
#[derive(Debug, Args)]
pub(super) struct Wanted {
    #[command(flatten)]
    pub(super) stores: Stores,
    /// JSON on one line.
    #[arg(long)]
    pub(super) json: bool,
}

impl Wanted {
    pub(super) fn config(&self) -> Config {
        self.stores.config(NO_SECRET)
    }

    pub(super) async fn open(&self) -> anyhow::Result<Arc<App>> {
        App::open(self.config()).await
    }
}

#[derive(Debug, Args)]
struct Create {
    #[command(flatten)]
    wanted: Wanted,
    /// What is sold: 1 to 64 of A-Z a-z 0-9 . _ -
    #[arg(long, value_parser = sku)]
    sku: Sku,
    /// Its name.
    #[arg(long, value_parser = title)]
    title: String,
    /// Price of one unit, in the currency's smallest unit (1999 is 19.99).
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000_000))]
    price: u64,
    /// ISO 4217.
    #[arg(long, default_value = "CNY", value_parser = currency)]
    currency: String,
    /// Units on offer.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    stock: u64,
    /// First instant: now, +10m, RFC 3339, or ms since 1970.
    #[arg(long, default_value = "now")]
    starts_at: When,
    /// Last instant; a span counts from the start. Left out: 30 days after the start.
    #[arg(long)]
    ends_at: Option<When>,
    /// Units that one user may have.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    per_user: u32,
    /// How long an order may stay unpaid: 90s, 30m, 2h.
    #[arg(long, default_value = "30m", value_parser = when::span)]
    pay_within: Millis,
    /// A buyer who cancels, or does not pay, may not buy again.
    #[arg(long)]
    no_rebuy: bool,
    /// Leaves a sale of this SKU as it is, and succeeds.
    #[arg(long)]
    if_missing: bool,
}

impl SaleArgs {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Create(create) => create.run().await,
            Command::List(wanted) => list(&wanted).await,
            Command::Show { sku, wanted } => {
                let app = wanted.open().await?;
                tell(&app, &sku, &wanted).await
            }
            Command::Pause { sku, wanted } => {
                let app = wanted.open().await?;
                shown(&app, &wanted, ops::switch(&app, &sku, Status::Open, Status::Paused).await?).await
            }
            Command::Resume { sku, wanted } => {
                let app = wanted.open().await?;
                shown(&app, &wanted, ops::switch(&app, &sku, Status::Paused, Status::Open).await?).await
            }
            Command::Close { sku, wanted } => {
                let app = wanted.open().await?;
                shown(&app, &wanted, ops::close(&app, &sku).await?).await
            }
            Command::Restock(restock) => {
                let app = restock.wanted.open().await?;
                let listed = ops::restock(&app, &restock.sku, restock.units, &restock.remark).await?;
                shown(&app, &restock.wanted, listed).await
            }
            Command::Reschedule(change) => change.run().await,
        }
    }
}

/// Arguments of `restock`.
#[derive(Debug, Args)]
struct Restock {
    /// The sale.
    #[arg(value_parser = sku)]
    sku: Sku,
    /// How many.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    units: u32,
    /// Why, for the ledger.
    #[arg(long, default_value = "", value_parser = remark)]
    remark: String,
    #[command(flatten)]
    wanted: Wanted,
}

/// Arguments of `reschedule`.
#[derive(Debug, Args)]
struct Reschedule {
    /// The sale.
    #[arg(value_parser = sku)]
    sku: Sku,
    /// First instant.
    #[arg(long)]
    starts_at: Option<When>,
    /// Last instant; a span counts from the start where that is given, and else from now.
    #[arg(long)]
    ends_at: Option<When>,
    /// Price of one unit, for orders from now on.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000_000))]
    price: Option<u64>,
    /// Units that one user may have.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    per_user: Option<u32>,
    #[command(flatten)]
    wanted: Wanted,
}

impl Reschedule {
    async fn run(self) -> anyhow::Result<()> {
        let app = self.wanted.open().await?;
        let (now, _) = app.redis.stock(&app.config.keyspace, &self.sku).await?;
        let starts_at = self.starts_at.map(|when| when.after(now));
        let ends_at = self.ends_at.map(|when| when.after(starts_at.unwrap_or(now)));
        let change = ops::Change { starts_at, ends_at, price: self.price, per_user: self.per_user };
        ensure!(ends_at.is_none_or(|at| at.0 < TOO_FAR), "--ends-at is too far away");
        shown(&app, &self.wanted, ops::reschedule(&app, &self.sku, change).await?).await
    }
}

impl Create {
    async fn run(self) -> anyhow::Result<()> {
        let app = self.wanted.open().await?;
        // By Redis' clock, which decides when it sells. It also says, before anything is written, that Redis is there.
        let (now, in_redis) = app.redis.stock(&app.config.keyspace, &self.sku).await?;
        let existing = app.sql.sale(&self.sku).await?;
        if existing.is_none() {
            ensure!(
                in_redis.is_none(),
                "Redis has live stock of {}, which SQL does not know; nothing was written",
                self.sku
            );
            let sale = self.sale(now)?;
            let partition = app.config.keyspace.partition_of(&self.sku);
            // Another process may have been quicker, which is the same as if it had been there.
            let created = app.sql.create_sale(&sale, partition, self.stock, app.now()).await?;
            ensure!(created || self.if_missing, "there is a sale {} already", self.sku);
        } else {
            ensure!(self.if_missing, "there is a sale {} already; nothing was changed", self.sku);
        }
        let listed = app.sql.sale(&self.sku).await?.context("the sale has vanished")?;
        if listed.sale.status == Status::Scheduled {
            let hint = "the sale is in SQL, but not in Redis yet; a running `serve` puts it there, and so does this command with --if-missing";
            outbox::preheat(&app, &listed).await.context(hint)?;
        }
        tell(&app, &self.sku, &self.wanted).await
    }

    fn sale(&self, now: Millis) -> anyhow::Result<Sale> {
        let starts_at = self.starts_at.after(now);
        let ends_at = self.ends_at.map_or(starts_at.plus(DEFAULT_LENGTH), |when| when.after(starts_at));
        ensure!(ends_at > starts_at, "--ends-at must be after --starts-at");
        ensure!(ends_at > now, "--ends-at is in the past");
        ensure!(ends_at.0 < TOO_FAR, "--ends-at is too far away");
        Ok(Sale {
            sku: self.sku.clone(),
            title: self.title.clone(),
            currency: self.currency.clone(),
            status: Status::Scheduled,
            terms: Terms { starts_at, ends_at, paused: false, per_user: self.per_user, price: self.price, version: 1 },
            pay_within: self.pay_within,
            rebuy: !self.no_rebuy,
        })
    }
}

async fn row(app: &App, listed: Listed) -> anyhow::Result<Row> {
    let (now, stock) = app.redis.stock(&app.config.keyspace, &listed.sale.sku).await?;
    Ok(Row::new(listed, stock, now))
}

async fn tell(app: &App, sku: &Sku, wanted: &Wanted) -> anyhow::Result<()> {
    shown(app, wanted, ops::find(app, sku).await?).await
}

async fn shown(app: &App, wanted: &Wanted, listed: Listed) -> anyhow::Result<()> {
    let row = row(app, listed).await?;
    if wanted.json { show::json(&row) } else { show::one(&row) }
}

async fn list(wanted: &Wanted) -> anyhow::Result<()> {
    let app = wanted.open().await?;
    let mut rows = Vec::new();
    for listed in app.sql.sales().await? {
        rows.push(row(&app, listed).await?);
    }
    if wanted.json { show::json(&rows) } else { show::list(&rows) }
}

pub(super) fn sku(text: &str) -> Result<Sku, String> {
    Sku::parse(text).map_err(|error| format!("it {error}: 1 to 64 of A-Z a-z 0-9 . _ -"))
}

fn title(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err("1 to 200 characters, none of them a control character".to_owned());
    }
    Ok(text.to_owned())
}

fn remark(text: &str) -> Result<String, String> {
    if text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err("at most 200 characters, none of them a control character".to_owned());
    }
    Ok(text.to_owned())
}

fn currency(text: &str) -> Result<String, String> {
    if text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) {
        Ok(text.to_owned())
    } else {
        Err("three capital letters, such as CNY".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_currency_or_title_is_refused() {
        assert!(currency("CNY").is_ok());
        for bad in ["", "cny", "CN", "CNYY", "C1Y"] {
            assert!(currency(bad).is_err(), "{bad}");
        }
        assert_eq!(title(" a "), Ok("a".to_owned()));
        assert!(title(" ").is_err() && title("a\nb").is_err() && title(&"x".repeat(201)).is_err());
    }
}
