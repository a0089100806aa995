//! Products, made and changed: SQL first, then the caches forget what they have, at once and once more by the outbox.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use sluice::model::{Millis, Sku};

use super::Unknown;
use crate::app::App;
use crate::catalog::entry::Entry;
use crate::catalog::read::chance;
use crate::domain::product::{Change, Class, Product};
use crate::sql::products::AGAIN;

/// Products that one question to SQL asks for, and that Redis is sent at once.
const PAGE: u64 = 1_000;
const AT_ONCE: usize = 64;

/// What is to be made.
#[derive(Clone, Debug)]
pub(crate) struct New {
    pub(crate) id: Sku,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) price: u64,
    pub(crate) currency: String,
    pub(crate) class: Class,
}

/// Makes it.
pub(crate) async fn create(app: &Arc<App>, new: New) -> anyhow::Result<Product> {
    let New { id, title, description, price, currency, class } = new;
    let now = app.now();
    let product = Product {
        id: id.as_str().to_owned(),
        title,
        description,
        price,
        currency,
        class,
        version: 1,
        updated_at: now.0,
    };
    ensure!(app.sql.create_product(&product, now).await?, "there is a product {id} already");
    told(app, &id, product.version).await;
    Ok(product)
}

/// Changes it.
pub(crate) async fn update(app: &Arc<App>, id: &Sku, change: &Change) -> anyhow::Result<Product> {
    ensure!(!change.is_empty(), "nothing is to be changed");
    let changed = app.sql.change_product(id, change, app.now()).await?;
    let product = changed.with_context(|| Unknown(format!("there is no product {id}")))?;
    told(app, id, product.version).await;
    Ok(product)
}

/// As SQL has it.
pub(crate) async fn show(app: &App, id: &Sku) -> anyhow::Result<Product> {
    app.sql.product(id).await?.with_context(|| Unknown(format!("there is no product {id}")))
}

/// Puts all products into Redis, before a crowd asks for them; how many.
pub(crate) async fn warm(app: &App) -> anyhow::Result<u64> {
    let (mut after, mut all) = (String::new(), 0);
    loop {
        let page = app.sql.products(&after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after.clone_from(&last.id);
        all += page.len() as u64;
        let fills = page.into_iter().map(|product| fill(app, product));
        stream::iter(fills).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    }
}

async fn fill(app: &App, product: Product) -> anyhow::Result<()> {
    let id = Sku::parse(&product.id)?;
    let (entry, ttl) = Entry::new(Some(product), app.now(), chance());
    // What is newer than what was read stays.
    app.redis.fill(&app.config.keyspace, &id, entry.version(), &serde_json::to_string(&entry)?, ttl).await?;
    Ok(())
}

/// The caches are told now; should that fail, or a reader bring back what it had read before, the outbox does it again.
async fn told(app: &Arc<App>, id: &Sku, version: u64) {
    app.catalog.heard(id, version);
    if let Err(error) = app.redis.outdate(&app.config.keyspace, id, version).await {
        tracing::warn!(%id, %error, "a product is changed in SQL, and the caches will follow");
    }
    let app = Arc::clone(app);
    let Millis(again) = AGAIN;
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(again)).await;
        app.outbox.notify_one();
    });
}
