//! What is in force, and what was counted.

use sluice_upstash::{Arg, Transport};

use super::super::Gate;
use super::super::edition::Edition;
use super::super::ports::Ports;
use super::super::refusal::Refusal;
use super::{Done, PATIENCE, away};
use crate::api::code::Code;
use crate::api::json::{self, Object};
use crate::config::{KeyPart, Limit, Route};
use crate::model::Sku;
use crate::script::counters;

impl<T: Transport + 'static> Gate<T> {
    /// The configuration in force, without anything that is secret.
    pub(super) fn configuration(&self, edition: &Edition) -> Object {
        let config = &edition.config;
        let limits: Vec<String> = config.limits.iter().map(limit).collect();
        let routes: Vec<String> = config.routes.iter().map(|route| shown(route, &config.limits)).collect();
        let refused = self.live.refused().map_or_else(|| "null".to_owned(), |refused| refused.to_json());
        Object::new()
            .text("version", edition.version.as_str())
            .text("source", self.live.source(edition))
            .raw("refused", &refused)
            .text("prefix", &config.prefix)
            .number("partitions", self.keys.partitions().count() as u64)
            .number("snapshot_ms", config.snapshot.0)
            .number("redis_deadline_ms", config.redis_deadline.0)
            .raw("limits", &json::list(&limits))
            .raw("routes", &json::list(&routes))
    }

    /// What all isolates have counted about one sale.
    pub(super) async fn counters<P: Ports>(&self, query: &str, ports: &P) -> Result<Done, Refusal> {
        let sku = query.split('&').find_map(|pair| pair.strip_prefix("sku=")).and_then(|text| Sku::parse(text).ok());
        let sku = sku.ok_or(Code::InvalidSku)?;
        let key = self.keys.counters(&sku);
        let timeout = std::time::Duration::from_millis(PATIENCE.0);
        let reply =
            self.redis.call("HGETALL", &[Arg::Str(&key)], timeout).await.map_err(|fault| away(&fault, ports))?;
        let counts = counters::parse(&reply).into_iter().fold(Object::new(), |all, (name, n)| all.number(name, n));
        Ok(Done::of(Object::new().text("sku", sku.as_str()).raw("counters", &counts.done())))
    }
}

fn limit(limit: &Limit) -> String {
    let key: Vec<&str> = limit.key.iter().map(|part| part_name(*part)).collect();
    let object = Object::new().text("name", &limit.name).raw("key", &json::texts(&key));
    object.number("burst", limit.quota.burst().into()).number("interval_us", limit.quota.interval().0).done()
}

/// A part of a limit's key as the document writes it.
fn part_name(part: KeyPart) -> &'static str {
    match part {
        KeyPart::User => "user",
        KeyPart::Ip => "ip",
        KeyPart::Sku => "sku",
        KeyPart::Route => "route",
    }
}

fn shown(route: &Route, limits: &[Limit]) -> String {
    let limits: Vec<&str> =
        route.limits.iter().filter_map(|at| limits.get(*at)).map(|limit| limit.name.as_str()).collect();
    Object::new()
        .text("name", &route.name)
        .text("method", &route.method)
        .text("path", &route.path.to_string())
        .raw("limits", &json::texts(&limits))
        .number("body_limit", route.body_limit as u64)
        .number("origin_deadline_ms", route.origin_deadline.0)
        .done()
}
