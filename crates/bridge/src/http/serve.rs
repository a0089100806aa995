//! Accepts clients: bounded in number, and none may hold a connection without saying anything.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::http::header::{CONNECTION, RETRY_AFTER};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Duration, sleep, timeout};
use tracing::{debug, warn};

use super::opened::Opened;
use super::{GRACE, Shared};
use crate::metrics::Counted;

/// After an accept that failed, most likely for want of file descriptors.
const BREATH: Duration = Duration::from_millis(100);

pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    shared: &Arc<Shared>,
    stop: watch::Sender<bool>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let connections = Arc::new(Semaphore::new(shared.config.connections_limit));
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let socket = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    warn!(%error, "cannot accept a connection");
                    sleep(BREATH).await;
                    continue;
                }
            },
        };
        // Without it only latency suffers.
        let _ = socket.set_nodelay(true);
        match Arc::clone(&connections).try_acquire_owned() {
            Ok(permit) => converse(socket, router.clone(), shared, &graceful, permit),
            Err(_) => turn_away(socket, shared),
        }
    }
    drop(listener);
    // Streams never end by themselves.
    stop.send_replace(true);
    if timeout(GRACE, graceful.shutdown()).await.is_err() {
        warn!("requests that are still under way are given up");
    }
    Ok(())
}

fn converse(
    socket: TcpStream,
    router: Router,
    shared: &Arc<Shared>,
    graceful: &GracefulShutdown,
    permit: OwnedSemaphorePermit,
) {
    let (patience, to_read) = (shared.config.header_timeout, shared.config.body_timeout);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(shared.config.header_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(shared.config.header_timeout)
        .keep_alive_timeout(shared.config.header_timeout);
    let service = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let service = service.clone();
        async move { hyper::service::Service::call(&service, request.map(Body::new)).await }
    });
    let (watcher, mut stopping) = (graceful.watcher(), shared.stopping.clone());
    let counted = Counted::up(&shared.metrics.connections);
    tokio::spawn(async move {
        // The builder waits for ever to see which version of HTTP begins.
        let opened = tokio::select! {
            opened = timeout(patience, Opened::read(socket, to_read)) => opened,
            _ = stopping.wait_for(|stop| *stop) => return,
        };
        if let Ok(Ok(socket)) = opened {
            let builder = if socket.is_http2() { builder.http2_only() } else { builder.http1_only() };
            let connection = builder.serve_connection(TokioIo::new(socket), service).into_owned();
            if let Err(error) = watcher.watch(connection).await {
                debug!(%error, "a client's connection ended");
            }
        }
        drop((permit, counted));
    });
}

/// Says why and hangs up.
fn turn_away(socket: TcpStream, shared: &Arc<Shared>) {
    shared.metrics.overloaded();
    let patience = shared.config.header_timeout.min(Duration::from_secs(1));
    tokio::spawn(async move {
        let service = hyper::service::service_fn(|_: Request<Incoming>| async {
            let body = r#"{"error":"ERR the bridge has as many clients as it may"}"#;
            let builder = Response::builder().status(503).header(RETRY_AFTER, "1").header(CONNECTION, "close");
            builder.header("content-type", "application/json").body(body.to_owned())
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(patience).keep_alive(false);
        let _ = timeout(patience, builder.serve_connection(TokioIo::new(socket), service)).await;
    });
}
