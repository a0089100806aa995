//! The origin of `cargo xtask bench`: what every contender forwards to.
//!
//! It takes stock and completes claims by the script of the real origin, `lua/deduct.lua`, and has no SQL behind it.
//! Whoever forwards a `Sluice-Assertion` is believed as the real origin would believe it, and has the claim completed
//! that the assertion names. Who forwards none gets the same order placed for the user of the JWT, without a claim.

mod clock;
mod desk;
mod orders;
mod place;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use desk::{Desk, Settings};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<()> {
    let setting = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
    let listen = setting("BENCH_ORIGIN_LISTEN")?;
    let desk = Desk::open(&Settings {
        redis: setting("REDIS_URL")?,
        assertion: setting("ASSERTION_SECRET")?,
        user: setting("USER_JWT_SECRET")?,
        issuer: setting("USER_JWT_ISSUER")?,
        audience: setting("USER_JWT_AUDIENCE")?,
    })
    .await?;
    let app = Router::new()
        .route("/v1/sales/{sku}/orders", post(place::place))
        .route("/bench/requests", get(requests))
        .route("/bench/orders/{kept}", post(keep))
        .with_state(Arc::new(desk));
    let listener = TcpListener::bind(&listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    // An answer leaves at once; a failure to say so only costs time.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, app).await?;
    Ok(())
}

/// How many orders were asked for since the start.
async fn requests(State(desk): State<Arc<Desk>>) -> String {
    desk.requests.load(Ordering::Relaxed).to_string()
}

/// `kept`: orders are placed in Redis. Anything else: they are answered as if they were, so that what Redis did was
/// done for the gateway.
async fn keep(State(desk): State<Arc<Desk>>, axum::extract::Path(kept): axum::extract::Path<String>) {
    desk.keeps_orders.store(kept == "kept", Ordering::Relaxed);
}
