//! What all requests share: keys, the connection, counters.

use std::sync::atomic::{AtomicBool, AtomicU64};

use anyhow::{Context, Result};
use redis::aio::MultiplexedConnection;
use sluice::api::code::Language;
use sluice::assertion::Assertions;
use sluice::identity::jwt::Checks;
use sluice::identity::keyring::Verifying;
use sluice::model::{Algorithm, Millis};
use sluice::script::deduct::{self, Answers};
use sluice::script::keys::Keyspace;

/// What it is started with.
pub(crate) struct Settings {
    pub(crate) redis: String,
    pub(crate) assertion: String,
    pub(crate) user: String,
    pub(crate) issuer: String,
    pub(crate) audience: String,
}

/// Shared by all requests.
pub(crate) struct Desk {
    pub(crate) redis: MultiplexedConnection,
    pub(crate) keys: Keyspace,
    pub(crate) answers: Answers,
    pub(crate) assertions: Assertions,
    pub(crate) users: Checks,
    pub(crate) user_keys: Verifying,
    /// Requests for an order so far.
    pub(crate) requests: AtomicU64,
    /// Whether orders are placed in Redis.
    pub(crate) keeps_orders: AtomicBool,
}

impl Desk {
    /// Connects, and loads the script.
    pub(crate) async fn open(settings: &Settings) -> Result<Self> {
        let client = redis::Client::open(settings.redis.as_str()).context("REDIS_URL")?;
        let mut redis = client.get_multiplexed_async_connection().await.context("Redis does not answer")?;
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(deduct::SCRIPT.source());
        load.query_async::<()>(&mut redis).await.context("SCRIPT LOAD")?;
        Ok(Self {
            redis,
            keys: Keyspace::default(),
            answers: Answers::new(Language::English),
            assertions: Assertions::new(&settings.assertion).context("ASSERTION_SECRET")?,
            users: Checks::new(Algorithm::Hs256, &settings.issuer, &settings.audience, Millis(0)),
            user_keys: Verifying::new(&settings.user).context("USER_JWT_SECRET")?,
            requests: AtomicU64::new(0),
            keeps_orders: AtomicBool::new(true),
        })
    }
}
