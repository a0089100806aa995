//! The catalog's cache in Redis, and the channel by which all origins hear of changes.

use std::time::Duration;

use ::redis::aio::PubSub;
use ::redis::{Client, ErrorKind, RedisError};
use serde::{Deserialize, Serialize};
use sluice::model::{Millis, Sku};
use sluice::script::keys::Keyspace;
use sluice::script::product;

use super::RedisFault;
use super::link::Link;

/// How long connecting and subscribing may take.
const CONNECT: Duration = Duration::from_secs(3);

/// A product was made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct News {
    /// The product.
    pub(crate) id: String,
    /// The version that SQL has now.
    pub(crate) version: u64,
}

impl Link {
    /// A product's entry, as it was written.
    pub(crate) async fn entry(&self, keys: &Keyspace, sku: &Sku) -> Result<Option<String>, RedisFault> {
        self.command(keys.partition_of(sku), ::redis::cmd("GET").arg(keys.product(sku))).await
    }

    /// Writes an entry. `false` when a newer version was announced since it was read.
    pub(crate) async fn fill(
        &self,
        keys: &Keyspace,
        sku: &Sku,
        version: u64,
        entry: &str,
        ttl: Millis,
    ) -> Result<bool, RedisFault> {
        let (p, names) = (keys.partition_of(sku), product::keys(keys, sku));
        let reply = self.eval(p, &product::FILL, &names, &product::fill(version, entry, ttl)).await?;
        Ok(product::filled(&reply)?)
    }

    /// Deletes a product's entry, and tells all origins of it.
    pub(crate) async fn outdate(&self, keys: &Keyspace, sku: &Sku, version: u64) -> Result<(), RedisFault> {
        let p = keys.partition_of(sku);
        self.eval(p, &product::OUTDATE, &product::keys(keys, sku), &product::outdate(version)).await?;
        let news = News { id: sku.as_str().to_owned(), version };
        // A struct of a text and a number always serialises.
        let text = serde_json::to_string(&news).unwrap_or_default();
        let mut publish = ::redis::cmd("PUBLISH");
        self.command::<i64>(p, publish.arg(keys.product_news()).arg(text)).await.map(drop)
    }
}

/// A connection that hears of every change from now on. In a cluster each server tells what is published at any;
/// `attempt` chooses among those that the address names.
pub(crate) async fn subscribe(url: &str, keys: &Keyspace, attempt: usize) -> Result<PubSub, RedisError> {
    let connect = async {
        let mut channel = Client::open(server(url, attempt))?.get_async_pubsub().await?;
        channel.subscribe(keys.product_news()).await?;
        Ok(channel)
    };
    let late = || RedisError::from((ErrorKind::Io, "Redis did not answer in time"));
    tokio::time::timeout(CONNECT, connect).await.map_err(|_| late())?
}

/// The address of one server: of `redis+cluster://[user:password@]host:port,host:port` one after the other.
fn server(url: &str, attempt: usize) -> String {
    let Some((scheme, rest)) = url.split_once("+cluster://") else { return url.to_owned() };
    let (login, hosts) = rest.rsplit_once('@').map_or((String::new(), rest), |(l, hosts)| (format!("{l}@"), hosts));
    let hosts: Vec<&str> = hosts.split(',').collect();
    let host = hosts.get(attempt % hosts.len()).copied().unwrap_or_default();
    format!("{scheme}://{login}{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_cluster_each_server_is_tried_in_turn() {
        assert_eq!(server("redis://:x@h:1/2", 5), "redis://:x@h:1/2");
        let url = "redis+cluster://me:p%40ss@a:7001,b:7002";
        assert_eq!(
            [0, 1, 2].map(|n| server(url, n)),
            ["redis://me:p%40ss@a:7001", "redis://me:p%40ss@b:7002", "redis://me:p%40ss@a:7001"]
        );
        assert_eq!(server("rediss+cluster://a:1", 3), "rediss://a:1");
    }
}
