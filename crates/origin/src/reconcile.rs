//! Reconciles every few minutes, in one process at a time.

use std::sync::Arc;

use sluice::model::Millis;

use crate::app::App;
use crate::ops::reconcile;
use crate::shutdown::Shutdown;

/// The lease's name.
const NAME: &str = "reconcile";

/// Works until the shutdown.
pub(crate) async fn run(app: Arc<App>, mut shutdown: Shutdown) {
    let owner = ulid::Ulid::generate().to_string();
    let every = app.config.reconcile_every;
    while !shutdown.sleep(every).await {
        // A little shorter than the interval: who had it last may go on having it.
        let until = app.now().plus(Millis(u64::try_from(every.as_millis()).unwrap_or(u64::MAX) / 10 * 9));
        match app.sql.lease(NAME, &owner, app.now(), until).await {
            Ok(true) => once(&app).await,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "reconciliation waits for SQL"),
        }
    }
    let _ = app.sql.release(NAME, &owner).await;
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
