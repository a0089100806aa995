//! A shop on a Redis Cluster: three masters, and sales spread over 16 partitions.

use std::process::Output;

use serde_json::Value;
use sluice::model::{Partition, Sku};
use sluice::script::keys::Keyspace;
use sluice_origin::Config;

use super::redis::Redis;
use super::shop::{self, Running};
use super::sql::Sql;
use super::{free_port, until};

pub const PARTITIONS: u16 = 16;
const SLOTS: u16 = 16_384;

/// Three masters that share the slots, and a database.
pub struct Cluster {
    pub masters: Vec<Redis>,
    pub sql: Sql,
    pub keys: Keyspace,
}

impl Cluster {
    pub async fn start() -> Self {
        let options = || {
            // The bus port need not be ten thousand higher, which might be past the last port.
            let bus = free_port().to_string();
            let words = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
            [&words[..], &["--cluster-require-full-coverage", "no"]].concat().into_iter().map(str::to_owned).collect()
        };
        let mut masters = Vec::new();
        for n in 0..3 {
            let master = Redis::start_with(options).await;
            let (from, to) = (SLOTS / 3 * n, if n == 2 { SLOTS - 1 } else { SLOTS / 3 * (n + 1) - 1 });
            master.ask::<()>(&format!("CLUSTER ADDSLOTSRANGE {from} {to}")).await;
            let bus: String = master.ask::<Vec<String>>("CONFIG GET cluster-port").await.remove(1);
            masters.push(master);
            masters[0].ask::<()>(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", masters[usize::from(n)].port)).await;
        }
        for master in &masters {
            until("the masters know each other", || async {
                let info: String = master.ask("CLUSTER INFO").await;
                ["cluster_state:ok", "cluster_known_nodes:3", "cluster_slots_ok:16384"].iter().all(|w| info.contains(w))
            })
            .await;
        }
        let shop = Self { masters, sql: Sql::new().await, keys: Keyspace::new("sl1", PARTITIONS) };
        let done = shop.tool("migrate").await;
        assert!(done.status.success(), "{done:?}");
        shop
    }

    /// The address that the origin gets; it names two of the three.
    pub fn url(&self) -> String {
        format!("redis+cluster://127.0.0.1:{},127.0.0.1:{}", self.masters[0].port, self.masters[1].port)
    }

    /// Runs `sluice-origin` as a tool, its words split at spaces.
    pub async fn tool(&self, line: &str) -> Output {
        shop::tool(&self.url(), &self.sql.url, PARTITIONS, line).await
    }

    /// The same; it must succeed, and its report is read.
    pub async fn report(&self, line: &str) -> Value {
        let done = self.tool(line).await;
        assert!(done.status.success(), "{done:?}");
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("no JSON: {done:?}"))
    }

    /// Creates sales and returns their SKUs: one in each partition.
    pub async fn sell_everywhere(&self, stock: u32) -> Vec<String> {
        let mut skus = Vec::new();
        for p in self.keys.partitions() {
            let names = (0..).map(|n| format!("sale-{n}"));
            let mut fitting = names.filter(|name| self.keys.partition_of(&Sku::parse(name).unwrap()) == p);
            let sku = fitting.next().unwrap();
            let done = self.tool(&format!("sale create --sku {sku} --title T --price 1999 --stock {stock}")).await;
            assert!(done.status.success(), "{done:?}");
            skus.push(sku);
        }
        skus
    }

    pub fn config(&self) -> Config {
        let mut config = shop::config(&self.url(), &self.sql.url);
        config.keyspace = self.keys.clone();
        config
    }

    pub async fn origin(&self) -> Running {
        Running::start(self.config()).await
    }

    /// Which master has a sale, by the slots as they were dealt.
    pub fn master_of(&self, sku: &str) -> usize {
        let Partition(p) = self.keys.partition_of(&Sku::parse(sku).unwrap());
        usize::from((self.keys.slot(Partition(p)) / (SLOTS / 3)).min(2))
    }

    /// What Redis has left of a sale.
    pub async fn stock(&self, sku: &str) -> i64 {
        let key = self.keys.stock(&Sku::parse(sku).unwrap());
        self.masters[self.master_of(sku)].ask(&format!("GET {key}")).await
    }

    /// Waits until SQL has so many orders in a status, and the outbox is empty.
    pub async fn quiet(&self, orders: i64, status: &str) {
        let count = format!("SELECT COUNT(*) FROM orders WHERE status = '{status}'");
        until("all is settled", || async { self.sql.number(&count).await == orders }).await;
        let open = "SELECT COUNT(*) FROM outbox WHERE done_at IS NULL";
        until("the outbox is empty", || async { self.sql.number(open).await == 0 }).await;
    }
}
