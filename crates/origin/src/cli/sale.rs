//! `sluice-origin sale …`.

use std::sync::Arc;

use clap::{Args, Subcommand};
use sluice::model::{Millis, Sku};

use super::Stores;
use super::show;
use super::when::{self, When};
use crate::app::App;
use crate::config::Config;
use crate::domain::sale::Status;
use crate::ops::create::{self, New};
use crate::ops::sale as ops;
use crate::sql::sales::Listed;

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
    #[arg(long, value_parser = create::title)]
    title: String,
    /// Price of one unit, in the currency's smallest unit (1999 is 19.99).
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000_000))]
    price: u64,
    /// ISO 4217.
    #[arg(long, default_value = "CNY", value_parser = create::currency)]
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
    #[arg(long, default_value = "", value_parser = create::remark)]
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
        ends_at.map_or(Ok(()), create::is_near)?;
        shown(&app, &self.wanted, ops::reschedule(&app, &self.sku, change).await?).await
    }
}

impl Create {
    async fn run(self) -> anyhow::Result<()> {
        let app = self.wanted.open().await?;
        // By Redis' clock, which decides when it sells. It also says, before anything is written, that Redis is there.
        let (now, _) = app.redis.stock(&app.config.keyspace, &self.sku).await?;
        let starts_at = self.starts_at.after(now);
        let new = New {
            sku: self.sku,
            title: self.title,
            price: self.price,
            currency: self.currency,
            stock: self.stock,
            starts_at,
            ends_at: self.ends_at.map(|when| when.after(starts_at)),
            per_user: self.per_user,
            pay_within: self.pay_within,
            rebuy: !self.no_rebuy,
        };
        let listed = create::create(&app, &new, now, self.if_missing).await?;
        shown(&app, &self.wanted, listed).await
    }
}

async fn tell(app: &App, sku: &Sku, wanted: &Wanted) -> anyhow::Result<()> {
    shown(app, wanted, ops::find(app, sku).await?).await
}

async fn shown(app: &App, wanted: &Wanted, listed: Listed) -> anyhow::Result<()> {
    let row = ops::row(app, listed).await?;
    if wanted.json { show::json(&row) } else { show::one(&row) }
}

async fn list(wanted: &Wanted) -> anyhow::Result<()> {
    let app = wanted.open().await?;
    let mut rows = Vec::new();
    for listed in app.sql.sales().await? {
        rows.push(ops::row(&app, listed).await?);
    }
    if wanted.json { show::json(&rows) } else { show::list(&rows) }
}

pub(super) fn sku(text: &str) -> Result<Sku, String> {
    Sku::parse(text).map_err(|error| format!("it {error}: 1 to 64 of A-Z a-z 0-9 . _ -"))
}
