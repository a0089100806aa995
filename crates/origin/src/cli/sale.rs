//! `sluice-origin sale …`.

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand};
use sluice::model::{Millis, Sku};
use sluice::script::preheat::{Applied, Terms};

use super::Stores;
use super::show::{self, Row};
use super::when::{self, When};
use crate::app::App;
use crate::domain::sale::{Sale, Status};
use crate::outbox;
use crate::sql::sales::Listed;

/// A sale without an end lasts so long.
const DEFAULT_LENGTH: Millis = Millis::from_secs(30 * 24 * 3600);
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
    /// Takes orders again.
    Resume {
        /// The sale.
        #[arg(value_parser = sku)]
        sku: Sku,
        #[command(flatten)]
        wanted: Wanted,
    },
}

#[derive(Debug, Args)]
struct Wanted {
    #[command(flatten)]
    stores: Stores,
    /// JSON on one line.
    #[arg(long)]
    json: bool,
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
                let app = App::open(wanted.stores.config(NO_SECRET)).await?;
                tell(&app, &sku, &wanted).await
            }
            Command::Pause { sku, wanted } => switch(&sku, &wanted, Status::Open, Status::Paused).await,
            Command::Resume { sku, wanted } => switch(&sku, &wanted, Status::Paused, Status::Open).await,
        }
    }
}

impl Create {
    async fn run(self) -> anyhow::Result<()> {
        let app = App::open(self.wanted.stores.config(NO_SECRET)).await?;
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
        // 9999-12-31: beyond it dates are not what anybody means.
        ensure!(ends_at.0 < 253_402_300_800_000, "--ends-at is too far away");
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
    let Some(listed) = app.sql.sale(sku).await? else { bail!("there is no sale {sku}") };
    let row = row(app, listed).await?;
    if wanted.json { show::json(&row) } else { show::one(&row) }
}

async fn list(wanted: &Wanted) -> anyhow::Result<()> {
    let app = App::open(wanted.stores.config(NO_SECRET)).await?;
    let mut rows = Vec::new();
    for listed in app.sql.sales().await? {
        rows.push(row(&app, listed).await?);
    }
    if wanted.json { show::json(&rows) } else { show::list(&rows) }
}

/// SQL first; Redis at once when it is there, else a running `serve` brings it over.
async fn switch(sku: &Sku, wanted: &Wanted, from: Status, to: Status) -> anyhow::Result<()> {
    let app = App::open(wanted.stores.config(NO_SECRET)).await?;
    if !app.sql.change_status(sku, from, to, app.now()).await? {
        let Some(listed) = app.sql.sale(sku).await? else { bail!("there is no sale {sku}") };
        // Asked for twice is done once.
        ensure!(listed.sale.status == to, "sale {sku} is {}, not {}", listed.sale.status.as_str(), from.as_str());
    }
    let listed = app.sql.sale(sku).await?.context("the sale has vanished")?;
    let applied = outbox::apply_terms(&app, &listed).await;
    let applied = applied.with_context(|| format!("sale {sku} is {} in SQL, and Redis will follow", to.as_str()))?;
    ensure!(applied != Applied::NotPreheated, "sale {sku} is {} in SQL, but it is not in Redis", to.as_str());
    tell(&app, sku, wanted).await
}

fn sku(text: &str) -> Result<Sku, String> {
    Sku::parse(text).map_err(|error| format!("it {error}: 1 to 64 of A-Z a-z 0-9 . _ -"))
}

fn title(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err("1 to 200 characters, none of them a control character".to_owned());
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
