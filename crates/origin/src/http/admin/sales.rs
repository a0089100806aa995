//! Sales, by the operators' API.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use serde::Deserialize;
use sluice::model::{Millis, Sku};

use super::answer::{Told, bad, told};
use super::{Segment, WAIT};
use crate::app::App;
use crate::domain::sale::Status;
use crate::ops::create::{self, New};
use crate::ops::{reconcile, sale};
use crate::sql::sales::Listed;

type Body<T> = Result<Json<T>, JsonRejection>;

/// A longest time to pay, ms: 30 days.
const MONTH: u64 = 30 * 86_400_000;

/// The sale in the path, or 400.
macro_rules! sku {
    ($text:expr) => {
        match Sku::parse(&$text) {
            Ok(sku) => sku,
            Err(error) => return bad(format!("the SKU {error}")),
        }
    };
}

/// The body as JSON, or 400.
macro_rules! body {
    ($body:expr) => {
        match $body {
            Ok(Json(body)) => body,
            Err(error) => return bad(error.body_text()),
        }
    };
}

async fn row(app: &App, listed: anyhow::Result<Listed>) -> Told {
    match listed {
        Ok(listed) => told(sale::row(app, listed).await),
        Err(error) => told::<()>(Err(error)),
    }
}

pub(super) async fn list(State(app): State<Arc<App>>) -> Told {
    let rows = async {
        let mut rows = Vec::new();
        for listed in app.sql.sales().await? {
            rows.push(sale::row(&app, listed).await?);
        }
        anyhow::Ok(rows)
    };
    told(rows.await)
}

pub(super) async fn show(State(app): State<Arc<App>>, Segment(sku): Segment) -> Told {
    let sku = sku!(sku);
    row(&app, sale::find(&app, &sku).await).await
}

pub(super) async fn pause(State(app): State<Arc<App>>, Segment(sku): Segment) -> Told {
    let sku = sku!(sku);
    row(&app, sale::switch(&app, &sku, Status::Open, Status::Paused).await).await
}

pub(super) async fn resume(State(app): State<Arc<App>>, Segment(sku): Segment) -> Told {
    let sku = sku!(sku);
    row(&app, sale::switch(&app, &sku, Status::Paused, Status::Open).await).await
}

pub(super) async fn close(State(app): State<Arc<App>>, Segment(sku): Segment) -> Told {
    let sku = sku!(sku);
    row(&app, sale::close(&app, &sku).await).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Restock {
    units: u32,
    #[serde(default)]
    remark: String,
}

pub(super) async fn restock(State(app): State<Arc<App>>, Segment(sku): Segment, body: Body<Restock>) -> Told {
    let (sku, wanted) = (sku!(sku), body!(body));
    if !(1..=1_000_000_000).contains(&wanted.units) {
        return bad("units: 1 to 1000000000");
    }
    match create::remark(&wanted.remark) {
        Ok(remark) => row(&app, sale::restock(&app, &sku, wanted.units, &remark).await).await,
        Err(error) => bad(format!("remark: {error}")),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Terms {
    starts_at: Option<u64>,
    ends_at: Option<u64>,
    price: Option<u64>,
    per_user: Option<u32>,
}

impl Terms {
    fn fault(&self) -> Option<&'static str> {
        if self.price.is_some_and(|price| price > 1_000_000_000_000) {
            return Some("price: 0 to 1000000000000");
        }
        if self.per_user.is_some_and(|n| !(1..=1000).contains(&n)) {
            return Some("per_user: 1 to 1000");
        }
        let far = self.ends_at.is_some_and(|at| create::is_near(Millis(at)).is_err());
        far.then_some("ends_at: it is too far away")
    }
}

pub(super) async fn reschedule(State(app): State<Arc<App>>, Segment(sku): Segment, body: Body<Terms>) -> Told {
    let (sku, wanted) = (sku!(sku), body!(body));
    if let Some(fault) = wanted.fault() {
        return bad(fault);
    }
    let change = sale::Change {
        starts_at: wanted.starts_at.map(Millis),
        ends_at: wanted.ends_at.map(Millis),
        price: wanted.price,
        per_user: wanted.per_user,
    };
    row(&app, sale::reschedule(&app, &sku, change).await).await
}

pub(super) async fn repair(State(app): State<Arc<App>>, Segment(sku): Segment) -> Told {
    let sku = sku!(sku);
    match reconcile::repair(&app, &sku, WAIT).await {
        Ok(()) => row(&app, sale::find(&app, &sku).await).await,
        Err(error) => told::<()>(Err(error)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    sku: String,
    title: String,
    stock: u64,
    #[serde(default = "cny")]
    currency: String,
    /// Left out: by default 30 min.
    pay_within_ms: Option<u64>,
    rebuy: Option<bool>,
    price: u64,
    starts_at: Option<u64>,
    ends_at: Option<u64>,
    per_user: Option<u32>,
}

fn cny() -> String {
    "CNY".to_owned()
}

impl Wanted {
    fn parse(self, now: Millis) -> Result<New, String> {
        let terms = Terms {
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            price: Some(self.price),
            per_user: self.per_user,
        };
        if let Some(fault) = terms.fault() {
            return Err(fault.to_owned());
        }
        if !(1..=1_000_000_000).contains(&self.stock) {
            return Err("stock: 1 to 1000000000".to_owned());
        }
        let pay_within = self.pay_within_ms.unwrap_or(1_800_000);
        if !(1..=MONTH).contains(&pay_within) {
            return Err(format!("pay_within_ms: 1 to {MONTH}"));
        }
        Ok(New {
            sku: Sku::parse(&self.sku).map_err(|error| format!("sku: it {error}"))?,
            title: create::title(&self.title).map_err(|error| format!("title: {error}"))?,
            price: self.price,
            currency: create::currency(&self.currency).map_err(|error| format!("currency: {error}"))?,
            stock: self.stock,
            starts_at: self.starts_at.map_or(now, Millis),
            ends_at: self.ends_at.map(Millis),
            per_user: self.per_user.unwrap_or(1),
            pay_within: Millis(pay_within),
            rebuy: self.rebuy.unwrap_or(true),
        })
    }
}

pub(super) async fn create(State(app): State<Arc<App>>, body: Body<Wanted>) -> Told {
    let wanted = body!(body);
    // By Redis' clock, which decides when it sells.
    let now = match Sku::parse(&wanted.sku) {
        Ok(sku) => app.redis.stock(&app.config.keyspace, &sku).await.map(|(now, _)| now),
        Err(error) => return bad(format!("sku: it {error}")),
    };
    let now = match now {
        Ok(now) => now,
        Err(error) => return told::<()>(Err(error.into())),
    };
    match wanted.parse(now) {
        Ok(new) => row(&app, create::create(&app, &new, now, false).await).await,
        Err(error) => bad(error),
    }
}
