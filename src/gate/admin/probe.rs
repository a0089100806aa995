//! Whether Redis and the origin answer, and how fast.

use std::time::Duration;

use sluice_upstash::Transport;

use super::super::Gate;
use super::super::ports::{Forward, Ports};
use super::PATIENCE;
use crate::api::json::Object;

impl<T: Transport + 'static> Gate<T> {
    /// Asks both once, past the breaker, whose state is told and left as it is.
    pub(super) async fn probe<P: Ports>(&self, ports: &P) -> Object {
        let asked = ports.now();
        let redis = self.redis.call("TIME", &[], Duration::from_millis(PATIENCE.0)).await;
        let heard = ports.now();
        let forward = Forward {
            method: "GET".to_owned(),
            target: "/healthz".to_owned(),
            timeout: PATIENCE,
            ..Forward::default()
        };
        let origin = ports.forward(forward).await;
        let fault = redis.as_ref().err().map(ToString::to_string);
        let redis = Object::new()
            .flag("answers", redis.is_ok())
            .number("took_ms", heard.minus(asked).0)
            .maybe("fault", fault.as_deref());
        let status = origin.as_ref().map_or(0, |answer| answer.response.status);
        let origin = Object::new()
            .flag("answers", origin.is_ok())
            .number("status", status.into())
            .number("took_ms", ports.now().minus(heard).0);
        let breaker = if self.memory.is_breaker_open(heard) { "open" } else { "closed" };
        Object::new().raw("redis", &redis.done()).raw("origin", &origin.done()).text("breaker", breaker)
    }
}
