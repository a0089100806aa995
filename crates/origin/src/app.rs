//! What all parts of one origin process share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, bail};
use sluice::api::code::Language;
use sluice::assertion::Assertions;
use sluice::model::{Millis, Partition};
use sluice::script::deduct::Answers;
use tokio::sync::Notify;

use crate::board::Board;
use crate::catalog::Catalog;
use crate::config::Config;
use crate::jobs::Jobs;
use crate::metrics::Metrics;
use crate::redis::link::Link;
use crate::sale_cache::SaleCache;
use crate::sql::Sql;

/// Connections, settings and counters.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) assertions: Assertions,
    pub(crate) redis: Arc<Link>,
    pub(crate) sql: Sql,
    pub(crate) metrics: Metrics,
    /// What one process at a time does.
    pub(crate) jobs: Jobs,
    pub(crate) sales: SaleCache,
    pub(crate) catalog: Catalog,
    pub(crate) board: Board,
    /// Woken when something was put into the outbox.
    pub(crate) outbox: Notify,
    /// Woken when there is an event to deliver.
    pub(crate) events: Notify,
    /// How many settle loops are at work, by partition.
    settling: Vec<AtomicUsize>,
    english: Answers,
    chinese: Answers,
}

impl App {
    /// Opens the database, brings its schema up to date and checks the settings against it. Redis may be away still.
    pub(crate) async fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        let assertions = Assertions::new(&config.assertion_secrets).context("the assertion secrets are no good")?;
        let redis = Arc::new(Link::new(&config.redis, &config.keyspace).context("the Redis URL is no good")?);
        let sql = Sql::open(&config.database, config.webhook.is_some()).await?;
        let keys = &config.keyspace;
        sql.ensure_partitions(keys.partitions()).await.context("cannot write to the database")?;
        for partition in keys.partitions() {
            redis.saw_seq(partition, sql.partition(partition).await?.1);
        }
        for listed in sql.sales().await? {
            let Partition(now) = keys.partition_of(&listed.sale.sku);
            if now != listed.partition.0 {
                bail!(
                    "sale {} was created in partition {} and would now be in {now}: the number of partitions was changed",
                    listed.sale.sku,
                    listed.partition.0
                );
            }
        }
        let settling = keys.partitions().map(|_| AtomicUsize::new(0)).collect();
        let jobs = Jobs::new(&redis, keys, &sql, config.job_ttl, config.reconcile_every)?;
        Ok(Arc::new(Self {
            catalog: Catalog::new(&redis, keys, jobs.monitor())?,
            board: Board::default(),
            jobs,
            sales: SaleCache::new(config.sale_ttl),
            config,
            assertions,
            redis,
            sql,
            metrics: Metrics::default(),
            outbox: Notify::new(),
            events: Notify::new(),
            settling,
            english: Answers::new(Language::English),
            chinese: Answers::new(Language::Chinese),
        }))
    }

    /// Now, by this machine.
    pub(crate) fn now(&self) -> Millis {
        self.config.clock.now()
    }

    /// The packed answers of `deduct.lua`.
    pub(crate) fn answers(&self, language: Language) -> &Answers {
        match language {
            Language::English => &self.english,
            Language::Chinese => &self.chinese,
        }
    }

    /// A settle loop of a partition is at work.
    pub(crate) fn begins_to_settle(&self, p: Partition) {
        if let Some(loops) = self.settling.get(usize::from(p.0)) {
            loops.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It is no more.
    pub(crate) fn ceases_to_settle(&self, p: Partition) {
        if let Some(loops) = self.settling.get(usize::from(p.0)) {
            loops.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a partition's orders are being settled.
    pub(crate) fn settles(&self, p: Partition) -> bool {
        self.settling.get(usize::from(p.0)).is_some_and(|loops| loops.load(Ordering::Relaxed) > 0)
    }
}
