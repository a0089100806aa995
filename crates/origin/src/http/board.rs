//! `GET /v1/sales` and `GET /v1/best-sellers`: public, and the same for everybody.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use sluice::api::code::Code;
use sluice::api::problem::Problem;
use sluice::model::Millis;

use super::answer::Answer;
use super::problem;
use crate::app::App;
use crate::board::{Line, Snapshot};

/// Sales that sell best, unless fewer or more are asked for.
const BEST: usize = 10;
/// And at most.
const MOST: usize = 50;

#[derive(Serialize)]
struct Told<T> {
    /// When it was so, ms since 1970.
    as_of: u64,
    /// Whether it is so still, as far as can be known.
    current: bool,
    #[serde(flatten)]
    sales: T,
}

#[derive(Serialize)]
struct Sales<'a> {
    sales: &'a [Line],
}

#[derive(Serialize)]
struct Best<'a> {
    best_sellers: Vec<&'a Line>,
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    limit: Option<usize>,
}

pub(super) async fn sales(State(app): State<Arc<App>>, headers: HeaderMap) -> Answer {
    match read(&app).await {
        Ok(snapshot) => told(&app, &snapshot, Sales { sales: &snapshot.sales }),
        Err(away) => problem(away, &headers),
    }
}

pub(super) async fn best(
    State(app): State<Arc<App>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    headers: HeaderMap,
) -> Answer {
    // What cannot be read is as good as left out.
    let most = wanted.ok().and_then(|Query(wanted)| wanted.limit).unwrap_or(BEST).min(MOST);
    match read(&app).await {
        Ok(snapshot) => told(&app, &snapshot, Best { best_sellers: snapshot.best(most) }),
        Err(away) => problem(away, &headers),
    }
}

async fn read(app: &App) -> Result<Arc<Snapshot>, Problem> {
    let away = |_| Problem::from(Code::SaleUnavailable).retry_after(Millis(1_000));
    app.board.read(app).await.map_err(away)
}

fn told<T: Serialize>(app: &App, snapshot: &Snapshot, sales: T) -> Answer {
    Answer::ok(&Told { as_of: snapshot.at.0, current: snapshot.is_current(app.now()), sales })
}
