//! Sales in Redis: preheated once, then kept up to date.

use sluice::model::{Millis, Sku};
use sluice::script::Arg;
use sluice::script::keys::Keyspace;
use sluice::script::preheat::{self, Applied, Terms};
use sluice::script::restore::{self, MARKER_TTL, Restored};

use super::RedisFault;
use super::link::Link;

/// How long the keys of a closed sale are kept.
const CLOSED_TTL: Millis = Millis::from_secs(7 * 24 * 3600);

impl Link {
    /// Puts a sale into Redis. `false` when its stock was there already, which stays as it is.
    pub(crate) async fn preheat(
        &self,
        keys: &Keyspace,
        sku: &Sku,
        terms: &Terms,
        stock: u64,
    ) -> Result<bool, RedisFault> {
        let mut args = terms.args();
        args.push(Arg::Int(stock));
        let reply = self.eval(keys.partition_of(sku), &preheat::PREHEAT, &preheat::keys(keys, sku), &args).await?;
        Ok(preheat::preheated(&reply)?)
    }

    /// Changes a sale's terms.
    pub(crate) async fn set_terms(&self, keys: &Keyspace, sku: &Sku, terms: &Terms) -> Result<Applied, RedisFault> {
        let reply = self.eval(keys.partition_of(sku), &preheat::TERMS, &[keys.sale(sku)], &terms.args()).await?;
        Ok(preheat::applied(&reply)?)
    }

    /// Adds units to a sale, once for each `id`.
    pub(crate) async fn restock(
        &self,
        keys: &Keyspace,
        sku: &Sku,
        id: &str,
        units: u32,
    ) -> Result<Restored, RedisFault> {
        let names = [keys.stock(sku), keys.restored(keys.partition_of(sku), id)];
        let args = [Arg::Int(units.into()), Arg::Int(MARKER_TTL.0)];
        Ok(restore::parse(&self.eval(keys.partition_of(sku), &restore::RESTOCK, &names, &args).await?)?)
    }

    /// Lets a sale that is closed be forgotten, in a while: until then orders can still be given back.
    pub(crate) async fn expire_sale(&self, keys: &Keyspace, sku: &Sku) -> Result<(), RedisFault> {
        let mut all = ::redis::pipe();
        for key in [keys.sale(sku), keys.stock(sku), keys.buyers(sku)] {
            all.cmd("PEXPIRE").arg(key).arg(CLOSED_TTL.0).arg("NX");
        }
        self.pipeline::<Vec<i64>>(keys.partition_of(sku), &all).await.map(drop)
    }

    /// Redis' time, and what it has left of a sale (`None` when the sale is not there).
    pub(crate) async fn stock(&self, keys: &Keyspace, sku: &Sku) -> Result<(Millis, Option<i64>), RedisFault> {
        let mut both = ::redis::pipe();
        both.cmd("TIME").cmd("GET").arg(keys.stock(sku)).cmd("EXISTS").arg(keys.sale(sku));
        let ((secs, micros), stock, there): ((u64, u64), Option<i64>, bool) =
            self.pipeline(keys.partition_of(sku), &both).await?;
        let now = Millis::from_secs(secs).plus(Millis(micros / 1000));
        Ok((now, stock.filter(|_| there)))
    }
}
