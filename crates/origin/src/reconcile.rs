//! Reconciles every few minutes, in one process at a time.

use std::sync::Arc;
use std::time::Duration;

use crate::app::App;
use crate::jobs::{Had, Name};
use crate::ops::reconcile;
use crate::shutdown::Shutdown;

/// Works until the shutdown. Who has the turn keeps it while it waits, so that all together reconcile once an interval;
/// the others look whether it is still alive.
pub(crate) async fn run(app: Arc<App>, mut shutdown: Shutdown) {
    let every = app.config.reconcile_every;
    let look = (app.config.job_ttl / 2).min(every).max(Duration::from_millis(10));
    while !shutdown.begun() {
        let turn = async {
            tokio::time::sleep(every).await;
            once(&app).await;
        };
        let had = tokio::select! {
            had = app.jobs.turn(Name::Reconcile, turn) => had,
            () = shutdown.wait() => return,
        };
        if had == Had::None && shutdown.sleep(look).await {
            return;
        }
    }
}

async fn once(app: &App) {
    let report = match reconcile::check(app).await {
        Ok(report) => report,
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "reconciliation could not read the books");
            return;
        }
    };
    for found in report.sales.iter().filter(|balance| !balance.agrees) {
        tracing::error!(
            sku = found.sku,
            redis = found.redis_stock,
            expected = found.expected,
            difference = found.difference,
            "Redis and SQL disagree about a sale's stock"
        );
    }
    for broken in &report.ledger_breaks {
        tracing::error!(sku = broken.sku, row = broken.log_no, what = broken.what, "the ledger is broken");
    }
    let mismatched = report.sales.iter().filter(|balance| !balance.agrees).count();
    app.metrics.reconciled(mismatched, report.ledger_breaks.len());
}
