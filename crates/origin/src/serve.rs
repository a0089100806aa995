//! `build`, then `run`: the whole service on listeners that the caller has bound.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::app::App;
use crate::config::Config;
use crate::shutdown::{self, Shutdown};
use crate::{catalog, due, events, http, jobs, outbox, reconcile, settle};

/// How long requests that are under way may take once the shutdown has begun.
const GRACE: Duration = Duration::from_secs(10);

/// A service that is ready to run.
pub struct Origin(Arc<App>);

/// Opens the database, brings its schema up to date and checks the settings. Redis may still be away.
///
/// # Errors
/// When a setting is no good, or the database cannot be opened.
pub async fn build(config: Config) -> anyhow::Result<Origin> {
    App::open(config).await.map(Origin)
}

/// Where the service listens.
#[derive(Debug)]
pub struct Listeners {
    /// For the edge.
    pub public: TcpListener,
    /// For operators.
    pub admin: Option<TcpListener>,
}

/// Serves, settles and carries out the outbox until `shutdown` resolves; then finishes what is under way.
///
/// # Errors
/// When a listener fails.
pub async fn run(origin: Origin, listeners: Listeners, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
    let app = origin.0;
    let (trigger, stopping) = shutdown::pair();
    let mut servers = JoinSet::new();
    servers.spawn(serve(listeners.public, http::public(app.clone()), stopping.clone()));
    if let Some(admin) = listeners.admin {
        servers.spawn(serve(admin, http::admin(app.clone()), stopping.clone()));
    }
    let mut workers = JoinSet::new();
    for partition in app.config.keyspace.partitions() {
        workers.spawn(settle::run(app.clone(), partition, stopping.clone()));
    }
    workers.spawn(outbox::run(app.clone(), stopping.clone()));
    workers.spawn(due::run(app.clone(), stopping.clone()));
    workers.spawn(events::run(app.clone(), stopping.clone()));
    workers.spawn(reconcile::run(app.clone(), stopping.clone()));
    workers.spawn(catalog::news::run(app.clone(), stopping.clone()));
    workers.spawn(jobs::watch(app.clone(), stopping));

    let early = tokio::select! {
        () = shutdown => None,
        ended = servers.join_next() => ended,
        ended = workers.join_next() => ended.map(|joined| joined.map(|()| Err(anyhow!("a task has ended by itself")))),
    };
    trigger.fire();
    let drained = async {
        while servers.join_next().await.is_some() {}
        while workers.join_next().await.is_some() {}
    };
    if tokio::time::timeout(GRACE, drained).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
    match early {
        None => Ok(()),
        Some(joined) => joined.context("a task has failed")?,
    }
}

async fn serve(listener: TcpListener, router: Router, mut stopping: Shutdown) -> anyhow::Result<()> {
    // Small answers leave at once.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).with_graceful_shutdown(async move { stopping.wait().await }).await?;
    Ok(())
}
