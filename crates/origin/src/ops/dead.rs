//! Dead letters: tried again as orders of their own, or dropped.

use std::collections::HashMap;

use anyhow::{Context as _, bail, ensure};
use sluice::api::code::Language;
use sluice::digest::Tag;
use sluice::model::Millis;
use sluice::script::deduct::{Deduct, Outcome};

use super::Unknown;
use crate::app::App;
use crate::domain::order::Placed;
use crate::sql::dead::Letter;

/// How long Redis may take to begin.
const LIMIT: Millis = Millis(10_000);

/// A new order for what a dead letter wanted: of the same buyer, sale and quantity, under an operation of its own that
/// is made of the old one, so that a retry which is repeated leads to the same order.
pub(crate) async fn retry(app: &App, request: &str) -> anyhow::Result<Letter> {
    let letter = find(app, request).await?;
    if letter.closed_at.is_some() {
        ensure!(letter.retried_as.is_some(), "it was dropped");
        return Ok(letter);
    }
    let fields: Option<HashMap<String, String>> = serde_json::from_str(&letter.payload).ok();
    let placed = fields.and_then(|fields| Placed::parse(&letter.entry_id, &fields).ok());
    let placed = placed.context("nobody can tell whose it is: it can only be dropped")?;
    ensure!(
        app.sql.is_done(&format!("restore:{}", placed.order)).await?,
        "its unit has not gone back to Redis yet; `serve` does that"
    );
    let op_id = Tag::of(&[b"retry", request.as_bytes()]).to_string();
    let partition = app.config.keyspace.partition_of(&placed.sku);
    let (now, _) = app.redis.stock(&app.config.keyspace, &placed.sku).await?;
    let quantity = std::num::NonZeroU32::new(placed.quantity).context("it wants no unit")?;
    let order = crate::domain::order::new_id(partition, app.now())?;
    let call = Deduct {
        order: &order,
        op_id: &op_id,
        sku: &placed.sku,
        user: &placed.user,
        quantity,
        not_after: now.plus(LIMIT),
        known_seq: app.redis.known_seq(partition),
        retention: app.config.retention,
        claim: None,
    };
    let reply = app.redis.deduct(&app.config.keyspace, &call, app.answers(Language::English)).await?;
    let order = match reply.outcome {
        Outcome::Accepted(order) | Outcome::Same(order) => order,
        other => bail!("Redis does not take it: {other:?}"),
    };
    app.sql.close_letter(request, Some(order.as_str()), app.now()).await?;
    find(app, request).await
}

/// Leaves it at that.
pub(crate) async fn drop(app: &App, request: &str) -> anyhow::Result<Letter> {
    app.sql.close_letter(request, None, app.now()).await?;
    let letter = find(app, request).await?;
    ensure!(letter.retried_as.is_none(), "it was retried");
    Ok(letter)
}

async fn find(app: &App, request: &str) -> anyhow::Result<Letter> {
    app.sql.dead_letter(request).await?.ok_or_else(|| Unknown(format!("there is no dead letter {request}")).into())
}
