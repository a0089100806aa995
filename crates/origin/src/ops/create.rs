//! Makes a sale: SQL first, then Redis.

use anyhow::{Context as _, ensure};
use sluice::model::{Millis, Sku};
use sluice::script::preheat::Terms;

use crate::app::App;
use crate::domain::sale::{Sale, Status};
use crate::outbox;
use crate::sql::sales::Listed;

/// A sale without an end lasts so long.
const DEFAULT_LENGTH: Millis = Millis::from_secs(30 * 24 * 3600);
/// 9999-12-31: beyond it dates are not what anybody means.
const TOO_FAR: Millis = Millis(253_402_300_800_000);

/// What is to be sold.
#[derive(Clone, Debug)]
pub(crate) struct New {
    pub(crate) sku: Sku,
    pub(crate) title: String,
    pub(crate) price: u64,
    pub(crate) currency: String,
    pub(crate) stock: u64,
    pub(crate) starts_at: Millis,
    pub(crate) ends_at: Option<Millis>,
    pub(crate) per_user: u32,
    pub(crate) pay_within: Millis,
    pub(crate) rebuy: bool,
}

/// Makes it. `now` is Redis' time, which decides when it sells; having it says that Redis is there.
pub(crate) async fn create(app: &App, new: &New, now: Millis, if_missing: bool) -> anyhow::Result<Listed> {
    let sku = &new.sku;
    let (_, in_redis) = app.redis.stock(&app.config.keyspace, sku).await?;
    if app.sql.sale(sku).await?.is_none() {
        ensure!(in_redis.is_none(), "Redis has live stock of {sku}, which SQL does not know; nothing was written");
        let sale = sale(new, now)?;
        let partition = app.config.keyspace.partition_of(sku);
        // Another process may have been quicker, which is the same as if it had been there.
        let created = app.sql.create_sale(&sale, partition, new.stock, app.now()).await?;
        ensure!(created || if_missing, "there is a sale {sku} already");
    } else {
        ensure!(if_missing, "there is a sale {sku} already; nothing was changed");
    }
    let listed = app.sql.sale(sku).await?.context("the sale has vanished")?;
    if listed.sale.status == Status::Scheduled {
        let hint = "the sale is in SQL, but not in Redis yet; a running `serve` puts it there, and so does this command with --if-missing";
        outbox::preheat(app, &listed).await.context(hint)?;
    }
    app.sql.sale(sku).await?.context("the sale has vanished")
}

fn sale(new: &New, now: Millis) -> anyhow::Result<Sale> {
    let starts_at = new.starts_at;
    let ends_at = new.ends_at.unwrap_or(starts_at.plus(DEFAULT_LENGTH));
    ensure!(ends_at > starts_at, "--ends-at must be after --starts-at");
    ensure!(ends_at > now, "--ends-at is in the past");
    is_near(ends_at)?;
    Ok(Sale {
        sku: new.sku.clone(),
        title: new.title.clone(),
        currency: new.currency.clone(),
        status: Status::Scheduled,
        terms: Terms { starts_at, ends_at, paused: false, per_user: new.per_user, price: new.price, version: 1 },
        pay_within: new.pay_within,
        rebuy: new.rebuy,
    })
}

/// Refuses an end that nobody means.
pub(crate) fn is_near(ends_at: Millis) -> anyhow::Result<()> {
    ensure!(ends_at < TOO_FAR, "--ends-at is too far away");
    Ok(())
}

/// A sale's name, without blanks around it.
pub(crate) fn title(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err("1 to 200 characters, none of them a control character".to_owned());
    }
    Ok(text.to_owned())
}

/// A word for the ledger.
pub(crate) fn remark(text: &str) -> Result<String, String> {
    if text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err("at most 200 characters, none of them a control character".to_owned());
    }
    Ok(text.to_owned())
}

/// ISO 4217.
pub(crate) fn currency(text: &str) -> Result<String, String> {
    if text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) {
        Ok(text.to_owned())
    } else {
        Err("three capital letters, such as CNY".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_currency_or_title_is_refused() {
        assert!(currency("CNY").is_ok());
        for bad in ["", "cny", "CN", "CNYY", "C1Y"] {
            assert!(currency(bad).is_err(), "{bad}");
        }
        assert_eq!(title(" a "), Ok("a".to_owned()));
        assert!(title(" ").is_err() && title("a\nb").is_err() && title(&"x".repeat(201)).is_err());
    }
}
