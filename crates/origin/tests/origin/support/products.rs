//! Products, and what readers see of them.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use sluice_origin::Config;
use sluice_origin::config::Tokens;

use super::client::{Answer, Client};
use super::shop::{Running, Shop};
use super::until;

pub const TOKEN: &str = "operator-token-0123456789abcdef01";

/// The counter of questions to SQL for one product.
pub const SQL_READS: &str = "sluice_origin_catalog_sql_reads_total";

impl Shop {
    /// Settings of an origin with an operators' API, whose readers wait for each other however slow the machine is.
    pub fn patient(&self) -> Config {
        let mut config = self.config();
        config.catalog_wait = Duration::from_secs(20);
        config.catalog_answer = Duration::from_secs(20);
        config.admin_tokens = Some(Tokens::parse(TOKEN).unwrap());
        config
    }

    /// Puts products `p0` and so on into SQL, past the origin.
    pub async fn products(&self, numbers: std::ops::Range<u32>) {
        let numbers: Vec<u32> = numbers.collect();
        for chunk in numbers.chunks(500) {
            let mut insert = "INSERT INTO products VALUES ".to_owned();
            for (i, n) in chunk.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                write!(insert, "{comma}('p{n}', 'Product {n}', '', {n}, 'CNY', 'standard', 1, 0, 0)").unwrap();
            }
            self.sql.run(&insert).await;
        }
    }
}

impl Running {
    /// A counter of `/metrics` behind the token.
    pub async fn told(&self, name: &str) -> u64 {
        let request = reqwest::Client::new().get(format!("{}/metrics", self.admin.base)).bearer_auth(TOKEN);
        let text = request.send().await.unwrap().text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Waits until changes are heard of, so that ids that are none are refused without any store.
    pub async fn hears(&self) {
        let refused = "sluice_origin_catalog_refused_total{by=\"filter\"}";
        until("the catalog hears of changes", || async {
            self.client.get("/v1/products/no-such-product").await;
            self.told(refused).await > 0
        })
        .await;
    }

    /// Status and JSON of an operator's request.
    pub async fn operate(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = reqwest::Client::new().request(method, format!("{}{path}", self.admin.base)).bearer_auth(TOKEN);
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
    }

    /// Changes a product's price; the version that it has then.
    pub async fn reprice(&self, id: &str, price: u64) -> u64 {
        let path = format!("/admin/products/{id}/update");
        let (status, product) = self.operate("POST", &path, json!({ "price": price })).await;
        assert_eq!(status, 200, "{product}");
        product["version"].as_u64().unwrap()
    }
}

/// Asks for many products at once, so many at a time.
pub async fn ask_for(client: &Client, ids: impl Iterator<Item = String>, at_once: usize) -> Vec<Answer> {
    let asked = ids.map(|id| async move { client.get(&format!("/v1/products/{id}")).await });
    stream::iter(asked).buffer_unordered(at_once).collect().await
}
