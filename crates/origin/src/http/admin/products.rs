//! Products, by the operators' API.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use serde::Deserialize;

use super::Segment;
use super::answer::{Told, bad, told};
use crate::app::App;
use crate::domain::product::{self, Change, Class};
use crate::ops::create;
use crate::ops::product as ops;

type Body<T> = Result<Json<T>, JsonRejection>;

/// Products that one answer holds, unless fewer are asked for.
const PAGE: u64 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    id: String,
    title: String,
    #[serde(default)]
    description: String,
    price: u64,
    #[serde(default = "cny")]
    currency: String,
    #[serde(default)]
    class: Class,
}

fn cny() -> String {
    "CNY".to_owned()
}

impl New {
    fn parse(self) -> Result<ops::New, String> {
        Ok(ops::New {
            id: product::id(&self.id).map_err(named("id"))?,
            title: create::title(&self.title).map_err(named("title"))?,
            description: product::description(&self.description).map_err(named("description"))?,
            price: product::price(self.price).map_err(named("price"))?,
            currency: create::currency(&self.currency).map_err(named("currency"))?,
            class: self.class,
        })
    }
}

fn named(field: &str) -> impl Fn(String) -> String {
    move |error| format!("{field}: {error}")
}

pub(super) async fn create(State(app): State<Arc<App>>, body: Body<New>) -> Told {
    match body.map_err(|error| error.body_text()).and_then(|Json(new)| new.parse()) {
        Ok(new) => told(ops::create(&app, new).await),
        Err(error) => bad(error),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    title: Option<String>,
    description: Option<String>,
    price: Option<u64>,
    currency: Option<String>,
    class: Option<Class>,
}

impl Changed {
    fn parse(self) -> Result<Change, String> {
        let change = Change {
            title: self.title.map(|title| create::title(&title)).transpose().map_err(named("title"))?,
            description: self
                .description
                .map(|text| product::description(&text))
                .transpose()
                .map_err(named("description"))?,
            price: self.price.map(product::price).transpose().map_err(named("price"))?,
            currency: self.currency.map(|text| create::currency(&text)).transpose().map_err(named("currency"))?,
            class: self.class,
        };
        if change.is_empty() { Err("nothing is to be changed".to_owned()) } else { Ok(change) }
    }
}

pub(super) async fn update(State(app): State<Arc<App>>, Segment(id): Segment, body: Body<Changed>) -> Told {
    let id = match product::id(&id) {
        Ok(id) => id,
        Err(error) => return bad(format!("id: {error}")),
    };
    match body.map_err(|error| error.body_text()).and_then(|Json(changed)| changed.parse()) {
        Ok(change) => told(ops::update(&app, &id, &change).await),
        Err(error) => bad(error),
    }
}

pub(super) async fn show(State(app): State<Arc<App>>, Segment(id): Segment) -> Told {
    match product::id(&id) {
        Ok(id) => told(ops::show(&app, &id).await),
        Err(error) => bad(format!("id: {error}")),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default)]
    after: String,
    limit: Option<u64>,
}

pub(super) async fn list(State(app): State<Arc<App>>, page: Result<Query<Page>, QueryRejection>) -> Told {
    match page {
        Ok(Query(Page { after, limit })) => told(app.sql.products(&after, limit.unwrap_or(PAGE).min(1_000)).await),
        Err(error) => bad(error.body_text()),
    }
}
