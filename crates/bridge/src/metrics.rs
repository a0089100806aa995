//! What `/metrics` shows. No label holds a key, a value or a token.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The content type of `/metrics`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const SECONDS: [f64; 11] = [0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    form: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InDatabase {
    database: String,
}

/// Counters of one bridge.
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Histogram,
    commands: Counter,
    overloaded: Counter,
    redis_up: Family<InDatabase, Gauge>,
    /// Requests that wait for Redis.
    pub waiting: Gauge,
    /// Clients that are connected.
    pub connections: Gauge,
    /// Server-sent event streams.
    pub streams: Gauge,
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("sluice_bridge");
        let metrics = Self {
            requests: Family::default(),
            seconds: Histogram::new(SECONDS),
            commands: Counter::default(),
            overloaded: Counter::default(),
            redis_up: Family::default(),
            waiting: Gauge::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("requests", "Answered requests by form and status", metrics.requests.clone());
        registry.register("request_seconds", "From the last byte of a request to its answer", metrics.seconds.clone());
        registry.register("commands", "Commands that clients sent", metrics.commands.clone());
        registry.register("overloaded", "Requests and connections refused at a limit", metrics.overloaded.clone());
        registry.register("redis_up", "Whether Redis answered when last tried", metrics.redis_up.clone());
        registry.register("waiting", "Requests that wait for Redis", metrics.waiting.clone());
        registry.register("connections", "Connected clients", metrics.connections.clone());
        registry.register("streams", "Open server-sent event streams", metrics.streams.clone());
        Self { registry, ..metrics }
    }

    /// Counts an answer.
    pub fn answered(&self, form: &'static str, status: u16) {
        self.requests.get_or_create(&Answered { form, status }).inc();
    }

    /// Counts so many commands, answered in this time.
    pub fn ran(&self, commands: usize, took: Duration) {
        self.commands.inc_by(commands as u64);
        self.seconds.observe(took.as_secs_f64());
    }

    /// Counts a refusal.
    pub fn overloaded(&self) {
        self.overloaded.inc();
    }

    /// Whether a database can be asked.
    pub fn redis_up(&self, database: &str, up: bool) {
        self.redis_up.get_or_create(&InDatabase { database: database.to_owned() }).set(i64::from(up));
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing into memory cannot fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts up now and down when it is dropped, whatever happens in between.
pub struct Counted(Gauge<i64, std::sync::atomic::AtomicI64>);

impl Counted {
    /// Counts up.
    pub fn up(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_shown() {
        let metrics = Metrics::new();
        metrics.answered("single", 200);
        metrics.answered("single", 200);
        metrics.ran(3, Duration::from_millis(2));
        metrics.redis_up("main", true);
        let stream = Counted::up(&metrics.streams);
        let shown = metrics.text();
        for line in [
            r#"sluice_bridge_requests_total{form="single",status="200"} 2"#,
            "sluice_bridge_commands_total 3",
            "sluice_bridge_request_seconds_count 1",
            r#"sluice_bridge_redis_up{database="main"} 1"#,
            "sluice_bridge_streams 1",
        ] {
            assert!(shown.contains(line), "{line} is missing:\n{shown}");
        }
        drop(stream);
        assert!(metrics.text().contains("sluice_bridge_streams 0"));
    }
}
