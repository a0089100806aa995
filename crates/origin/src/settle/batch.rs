//! Commits a batch, however long the database takes, and finds the entry that cannot be written.

use std::time::Duration;

use tokio::time::Instant;

use super::plan::Fate;
use super::{Broken, Settler};
use crate::domain::order::{DUPLICATE_OF, Placed, SETTLED, status};
use crate::redis::stream::Entry;
use crate::shutdown::Backoff;
use crate::sql::dead::Dead;
use crate::sql::fault::SettleFault;

/// After so many failures alone an entry is given up.
const ATTEMPTS: i32 = 5;

impl Settler<'_> {
    /// Settles entries and acknowledges them.
    pub(super) async fn settle(&mut self, entries: Vec<Entry>, epoch: i64) -> Result<(), Broken> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut placed = Vec::with_capacity(entries.len());
        let mut gone = Vec::new();
        for entry in entries {
            match &entry.fields {
                None => gone.push(entry.id),
                Some(fields) => match Placed::parse(&entry.id, fields) {
                    Ok(good) => placed.push(good),
                    Err(field) => self.failed_alone(entry, None, &format!("bad field: {field}"), epoch).await?,
                },
            }
        }
        if !gone.is_empty() {
            tracing::error!(partition = self.partition.0, ?gone, "pending entries were removed from the stream");
            let ids = gone.iter().map(String::as_str).collect();
            self.consumer.settled(ids, Vec::new(), Vec::new(), self.app.config.order_ttl).await?;
        }
        // Smaller and smaller pieces, in order, until what is left of the trouble is one entry.
        let mut pieces = vec![placed];
        while let Some(mut piece) = pieces.pop() {
            match self.commit(&piece, epoch).await {
                Ok(fates) => self.acknowledge(&piece, &fates).await?,
                Err(Broken::Settle(SettleFault::Data(error))) if piece.len() == 1 => {
                    if let Some(only) = piece.pop() {
                        let entry = Entry { id: only.entry.clone(), fields: Some(fields(&only)) };
                        self.failed_alone(entry, Some(&only), &error, epoch).await?;
                    }
                }
                Err(Broken::Settle(SettleFault::Data(_))) => {
                    let rest = piece.split_off(piece.len() / 2);
                    pieces.push(rest);
                    pieces.push(piece);
                }
                Err(Broken::Settle(SettleFault::Fenced)) => {
                    self.report_lost(&piece).await?;
                    return Err(SettleFault::Fenced.into());
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// One transaction, tried until the database takes it. An outage never counts against an entry.
    async fn commit(&mut self, batch: &[Placed], epoch: i64) -> Result<Vec<Fate>, Broken> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let mut backoff = Backoff::new();
        loop {
            match self.app.sql.settle(self.partition, epoch, batch, self.app.now()).await {
                Err(SettleFault::Outage(error)) => {
                    self.app.metrics.retry();
                    tracing::warn!(partition = self.partition.0, batch = batch.len(), %error, "the batch waits for SQL");
                    if self.shutdown.sleep(backoff.next()).await {
                        return Err(Broken::Shutdown);
                    }
                }
                other => return Ok(other?),
            }
        }
    }

    async fn acknowledge(&mut self, batch: &[Placed], fates: &[Fate]) -> Result<(), Broken> {
        let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
        let failed = count(|fate| matches!(fate, Fate::SlotTaken | Fate::Short));
        let duplicates = count(|fate| matches!(fate, Fate::Duplicate(_)));
        self.app.metrics.batch(count(|fate| matches!(fate, Fate::Settled { .. })), duplicates, failed);
        if count(|fate| *fate == Fate::Short) > 0 {
            tracing::error!(partition = self.partition.0, "SQL has less stock than Redis sold: the sale is paused");
        }
        if failed + duplicates > 0 {
            self.app.outbox.notify_one();
        }
        let state = |fate: &Fate| match fate {
            Fate::Duplicate(first) => format!("{DUPLICATE_OF}{first}"),
            Fate::Dead => status::FAILED.to_owned(),
            Fate::Settled { .. } | Fate::Before | Fate::SlotTaken | Fate::Short => SETTLED.to_owned(),
        };
        let orders = batch.iter().zip(fates).map(|(placed, fate)| (placed.order.clone(), state(fate))).collect();
        let to_be_paid = batch.iter().zip(fates).filter_map(|(placed, fate)| match fate {
            Fate::Settled { pay_by } => Some((placed.order.clone(), *pay_by)),
            _ => None,
        });
        let to_be_paid = to_be_paid.collect();
        let ids = batch.iter().map(|placed| placed.entry.as_str()).collect();
        self.consumer.settled(ids, orders, to_be_paid, self.app.config.order_ttl).await?;
        Ok(())
    }

    /// Counts a failure that is the entry's own, parks it, and gives it up after [`ATTEMPTS`].
    async fn failed_alone(
        &mut self,
        entry: Entry,
        placed: Option<&Placed>,
        error: &str,
        epoch: i64,
    ) -> Result<(), Broken> {
        let attempts = self.app.sql.failed_alone(self.partition, &entry.id, error, self.app.now()).await?;
        tracing::error!(partition = self.partition.0, entry = entry.id, attempts, error, "an entry cannot be settled");
        if attempts < ATTEMPTS {
            let wait = Duration::from_millis(100) * 2u32.saturating_pow(attempts.unsigned_abs());
            self.parked.push((entry, Instant::now() + wait));
            return Ok(());
        }
        let payload = serde_json::to_string(&entry.fields).unwrap_or_default();
        let dead = Dead { entry: &entry.id, payload, placed, error, attempts };
        if self.app.sql.bury(self.partition, epoch, &dead, self.app.now()).await? {
            tracing::error!(partition = self.partition.0, entry = entry.id, "the entry is a dead letter now");
            self.app.metrics.dead();
            self.app.outbox.notify_one();
        }
        let orders = placed.map(|placed| (placed.order.clone(), status::FAILED.to_owned())).into_iter().collect();
        self.consumer.settled(vec![&entry.id], orders, Vec::new(), self.app.config.order_ttl).await?;
        Ok(())
    }

    /// Tries entries again that failed alone and whose time has come.
    pub(super) async fn retry_parked(&mut self) -> Result<(), Broken> {
        if self.parked.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.parked).into_iter().partition(|(_, at)| *at <= now);
        self.parked = later;
        let due: Vec<(Entry, Instant)> = due;
        for (entry, _) in due {
            let epoch = self.epoch().await?;
            self.settle(vec![entry], epoch).await?;
        }
        Ok(())
    }

    /// After a recovery: what is still in the stream is read again, what is not was lost with Redis.
    async fn report_lost(&mut self, batch: &[Placed]) -> Result<(), Broken> {
        let ids: Vec<String> = batch.iter().map(|placed| placed.entry.clone()).collect();
        let present = self.consumer.present(&ids).await?;
        for (placed, _) in batch.iter().zip(present).filter(|(_, present)| !present) {
            tracing::error!(order = %placed.order, sku = %placed.sku, seq = placed.seq, "an accepted order was lost with Redis");
        }
        Ok(())
    }
}

/// The fields again, for the dead letter.
fn fields(placed: &Placed) -> std::collections::HashMap<String, String> {
    [
        ("order", placed.order.to_string()),
        ("req", placed.op_id.clone()),
        ("sku", placed.sku.to_string()),
        ("user", placed.user.to_string()),
        ("quantity", placed.quantity.to_string()),
        ("price", placed.price.to_string()),
        ("per_user", placed.per_user.to_string()),
        ("seq", placed.seq.to_string()),
        ("at", placed.at.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
