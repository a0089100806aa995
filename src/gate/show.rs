//! A sale as the pages that wait for it poll it: from the isolate's snapshot, so that a crowd costs a call a second.

use super::Gate;
use super::edition::Edition;
use super::refusal::{self, LATER, Refusal};
use crate::admit::{Snapshot, State};
use crate::api::code::Code;
use crate::api::json::Object;
use crate::api::response::Response;
use crate::model::{Millis, Sku};

impl<T> Gate<T> {
    /// The sale, when it can be shown without asking Redis.
    pub(super) fn shown(&self, edition: &Edition, sku: &Sku, now: Millis) -> Option<Result<Response, Refusal>> {
        let (sale, at) = self.memory.shown(sku, now)?;
        Some(match sale {
            Some(sale) => Ok(view(sku, &sale, at, edition.config.few)),
            None => Err(Code::SaleUnknown.into()),
        })
    }

    /// The sale, after Redis was asked; where it brought nothing, there is nothing to show.
    pub(super) fn show(&self, edition: &Edition, sku: &Sku, now: Millis) -> Result<Response, Refusal> {
        self.shown(edition, sku, now).unwrap_or_else(|| Err(refusal::degraded(LATER).into()))
    }
}

/// How much is left is told as a band: a number would be old before it is read, and is nobody's but the shop's.
fn view(sku: &Sku, sale: &Snapshot, now: Millis, few: u64) -> Response {
    let state = sale.state(now);
    let stock = match sale.stock.unwrap_or_default() {
        _ if state == State::Ended => "none",
        0 => "none",
        left if left <= few => "few",
        _ => "many",
    };
    let body = Object::new()
        .text("sku", sku.as_str())
        .text("state", state.as_str())
        .number("price", sale.price)
        .text("stock", stock)
        .number("starts_at", sale.starts_at.0)
        .number("ends_at", sale.ends_at.0)
        .number("now", now.0);
    Response::json(200, body.done().into_bytes())
}
