//! A small client of the edge's public API, for tools.

use crate::clock;
use anyhow::{Context, Result, bail};
use reqwest::StatusCode;
use serde::Deserialize;
use std::time::Duration;

/// What `GET /v1/sales/{sku}` says, as far as tools care.
#[derive(Debug, Clone, Deserialize)]
pub struct SaleView {
    /// scheduled, open, paused, sold_out or ended
    pub state: String,
    /// What is left: many, few or none
    pub stock: String,
}

impl SaleView {
    /// Whether an order could succeed now.
    #[must_use]
    pub fn is_sellable(&self) -> bool {
        self.state == "open" && self.stock != "none"
    }
}

/// The client.
#[derive(Debug, Clone)]
pub struct Edge {
    base: String,
    client: reqwest::Client,
}

impl Edge {
    /// A client of the Worker at `base`.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(base: &str) -> Result<Self> {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build()?;
        Ok(Self { base: base.trim_end_matches('/').to_owned(), client })
    }

    /// A sale, or None when the edge knows no such sale.
    ///
    /// # Errors
    /// When the edge cannot be reached or answers something else.
    pub async fn sale(&self, sku: &str) -> Result<Option<SaleView>> {
        let url = format!("{}/v1/sales/{sku}", self.base);
        let request = self.client.get(&url).header("cf-connecting-ip", "127.0.0.1");
        let answer = request.send().await.with_context(|| url.clone())?;
        match answer.status() {
            StatusCode::OK => Ok(Some(answer.json().await.with_context(|| url)?)),
            StatusCode::NOT_FOUND => Ok(None),
            status => bail!("{url} answers {status}: {}", answer.text().await?),
        }
    }

    /// Waits until a sale that was just created can be bought from: for a moment, the edge remembers that it did not
    /// know it.
    ///
    /// # Errors
    /// When that takes too long; the message holds what the edge says instead.
    pub async fn until_sellable(&self, sku: &str) -> Result<()> {
        const LIMIT: Duration = Duration::from_secs(15);
        let deadline = clock::now() + LIMIT;
        loop {
            let seen = self.sale(sku).await?;
            if seen.as_ref().is_some_and(SaleView::is_sellable) {
                return Ok(());
            }
            if clock::now() >= deadline {
                bail!("the sale {sku} was created, but after {} the edge says {seen:?}", clock::human(LIMIT));
            }
            tokio::time::sleep(clock::POLL * 5).await;
        }
    }

    /// The status of an order, as its owner sees it.
    ///
    /// # Errors
    /// When the edge cannot be reached or does not show the order.
    pub async fn order_status(&self, id: &str, jwt: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Order {
            status: String,
        }
        let url = format!("{}/v1/orders/{id}", self.base);
        let request = self.client.get(&url).bearer_auth(jwt).header("cf-connecting-ip", "127.0.0.1");
        let answer = request.send().await.with_context(|| url.clone())?;
        if answer.status() != StatusCode::OK {
            bail!("{url} answers {}: {}", answer.status(), answer.text().await?);
        }
        let order: Order = answer.json().await.with_context(|| url)?;
        Ok(order.status)
    }
}
