//! `sluice-origin product …`.

use clap::{Args, Subcommand};
use sluice::model::{Millis, Sku};

use super::sale::Wanted;
use super::show;
use super::when::shown;
use crate::domain::product::{self, Change, Class, DEAREST, Product};
use crate::ops::create;
use crate::ops::product as ops;

/// Arguments of `product`.
#[derive(Debug, Subcommand)]
pub(super) enum ProductCommand {
    /// Makes a product.
    Create(Create),
    /// Changes a product; the caches of all origins forget what they have.
    Update(Update),
    /// Lists products in the order of their ids.
    List {
        /// Only those after this id.
        #[arg(long, default_value = "")]
        after: String,
        /// At most so many.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
        limit: u64,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Puts all products into Redis, before a crowd asks for them.
    Warm(Wanted),
    /// Shows a product as SQL has it.
    Show {
        /// Its id.
        #[arg(value_parser = product::id)]
        id: Sku,
        #[command(flatten)]
        wanted: Wanted,
    },
}

/// Arguments of `create`.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// Its SKU: 1 to 64 of A-Z a-z 0-9 . _ -
    #[arg(long, value_parser = product::id)]
    id: Sku,
    /// Its name.
    #[arg(long, value_parser = create::title)]
    title: String,
    /// More about it.
    #[arg(long, default_value = "", value_parser = product::description)]
    description: String,
    /// What its page shows, in the currency's smallest unit; orders cost the sale's price.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=DEAREST))]
    price: u64,
    /// ISO 4217.
    #[arg(long, default_value = "CNY", value_parser = create::currency)]
    currency: String,
    /// `hot`: an old copy is told while a new one is made.
    #[arg(long, default_value = "standard", value_parser = Class::parse)]
    class: Class,
    #[command(flatten)]
    wanted: Wanted,
}

/// Arguments of `update`.
#[derive(Debug, Args)]
pub(super) struct Update {
    /// Its id.
    #[arg(value_parser = product::id)]
    id: Sku,
    /// Its name.
    #[arg(long, value_parser = create::title)]
    title: Option<String>,
    /// More about it.
    #[arg(long, value_parser = product::description)]
    description: Option<String>,
    /// What its page shows, in the currency's smallest unit.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=DEAREST))]
    price: Option<u64>,
    /// ISO 4217.
    #[arg(long, value_parser = create::currency)]
    currency: Option<String>,
    /// `standard` or `hot`.
    #[arg(long, value_parser = Class::parse)]
    class: Option<Class>,
    #[command(flatten)]
    wanted: Wanted,
}

impl ProductCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Create(Create { id, title, description, price, currency, class, wanted }) => {
                let app = wanted.open().await?;
                let new = ops::New { id, title, description, price, currency, class };
                one(&wanted, &ops::create(&app, new).await?)
            }
            Self::Update(Update { id, title, description, price, currency, class, wanted }) => {
                let app = wanted.open().await?;
                let change = Change { title, description, price, currency, class };
                one(&wanted, &ops::update(&app, &id, &change).await?)
            }
            Self::Show { id, wanted } => {
                let app = wanted.open().await?;
                one(&wanted, &ops::show(&app, &id).await?)
            }
            Self::Warm(wanted) => {
                let app = wanted.open().await?;
                let filled = ops::warm(&app).await?;
                if wanted.json {
                    return show::json(&serde_json::json!({ "filled": filled }));
                }
                show::line(&format!("{filled} products are in Redis."))
            }
            Self::List { after, limit, wanted } => {
                let app = wanted.open().await?;
                let products = app.sql.products(&after, limit).await?;
                if wanted.json {
                    return show::json(&products);
                }
                let cells = products.iter().map(|product| {
                    let price = format!("{} {}", product.price, product.currency);
                    vec![product.id.clone(), product.title.clone(), price, product.class.as_str().to_owned()]
                });
                show::rows(&["id", "title", "price", "class"], cells, "There are no products.")
            }
        }
    }
}

fn one(wanted: &Wanted, product: &Product) -> anyhow::Result<()> {
    if wanted.json {
        return show::json(product);
    }
    show::fields(&[
        ("id", product.id.clone()),
        ("title", product.title.clone()),
        ("description", product.description.clone()),
        ("price", format!("{} {} (smallest unit)", product.price, product.currency)),
        ("class", product.class.as_str().to_owned()),
        ("version", product.version.to_string()),
        ("changed", shown(Millis(product.updated_at))),
    ])
}
