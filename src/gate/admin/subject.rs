//! One subject's buckets, looked at without charge or filled again; one operation's claim, given up.

use std::collections::BTreeMap;
use std::time::Duration;

use sluice_upstash::command::command;
use sluice_upstash::{Arg, Transport, Value};

use super::super::Gate;
use super::super::edition::Edition;
use super::super::ports::{Ports, Request};
use super::super::refusal::Refusal;
use super::super::who::Caller;
use super::super::{operation, whole};
use super::{Done, PATIENCE, away};
use crate::admit::Charge;
use crate::api::code::Code;
use crate::api::json::{self, Object};
use crate::api::problem::Problem;
use crate::config::{KeyPart, Limit, Route};
use crate::digest::Tag;
use crate::identity::ip::{self, ClientIp};
use crate::model::{Cost, Micros, Partition, Sku, User};

/// As many commands travel in one request.
const BATCH: usize = 100;

/// Whom an operator means: members of a JSON object, all of them texts. `route` keeps to one route where a limit is keyed
/// by route, and belongs to a claim; `limit` keeps to one limit. `order_token` or `idempotency_key` names an operation,
/// whose claim is meant instead of buckets.
struct Named(BTreeMap<String, String>);

const MEMBERS: [&str; 7] = ["user", "ip", "sku", "route", "limit", "order_token", "idempotency_key"];

/// One bucket.
struct Place<'e> {
    limit: &'e Limit,
    route: Option<&'e str>,
    partition: Partition,
    key: String,
}

fn bad(detail: &'static str) -> Refusal {
    Problem::from(Code::InvalidBody).detail(detail).into()
}

impl Named {
    fn read(request: &Request) -> Result<(Self, Caller), Refusal> {
        let members: BTreeMap<String, String> =
            serde_json::from_slice(whole(request)).map_err(|_| Refusal::from(Code::InvalidBody))?;
        if !members.keys().all(|name| MEMBERS.contains(&name.as_str())) {
            return Err(bad("a member is not known"));
        }
        let named = Self(members);
        let user = named.get("user").map(User::parse).transpose().map_err(|_| bad("`user` is no user id"))?;
        let sku = named.get("sku").map(Sku::parse).transpose().map_err(|_| bad("`sku` is no SKU"))?;
        let address = match named.get("ip").map(ip::address) {
            Some(None) => return Err(bad("`ip` is no address")),
            found => found.flatten(),
        };
        let caller = Caller { user, address, ip: address.map(ClientIp::from_ip), sku, ..Caller::default() };
        Ok((named, caller))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// What the log shows in place of the subject.
    fn subject(&self) -> Tag {
        Tag::of(&["user", "ip", "sku"].map(|name| self.get(name).unwrap_or_default().as_bytes()))
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// How full the subject's buckets are. Those that Redis does not hold are full, and not listed.
    pub(super) async fn peek<P: Ports>(
        &self,
        edition: &Edition,
        request: &Request,
        ports: &P,
    ) -> Result<Done, Refusal> {
        let (named, caller) = Named::read(request)?;
        let places = self.places(edition, &named, &caller)?;
        let reads = places.iter().map(|place| command("GET", &[Arg::Str(&place.key)]));
        let commands: Vec<String> = std::iter::once(command("TIME", &[])).chain(reads).collect();
        let mut replies = self.batches(&commands, ports).await?.into_iter();
        let now = replies.next().as_ref().and_then(micros).ok_or(Code::Degraded)?;
        let held = places.iter().zip(replies).filter_map(|(place, reply)| match reply {
            Value::Str(tat) => Some(shown(place, Micros(tat.parse().ok()?), now)),
            _ => None,
        });
        let held = json::list(&held.collect::<Vec<_>>());
        let body = Object::new().raw("buckets", &held).number("looked_at", places.len() as u64);
        Ok(Done { body, subject: Some(named.subject()) })
    }

    /// Fills the subject's buckets, or gives up the claim of one operation. Every isolate has forgotten what it knew of
    /// them after `snapshot_ms`.
    pub(super) async fn reset<P: Ports>(
        &self,
        edition: &Edition,
        request: &Request,
        ports: &P,
    ) -> Result<Done, Refusal> {
        let (named, caller) = Named::read(request)?;
        let subject = Some(named.subject());
        let keys = if named.get("order_token").is_some() || named.get("idempotency_key").is_some() {
            vec![self.claim(edition, &named, caller)?]
        } else {
            self.places(edition, &named, &caller)?.into_iter().map(|place| place.key).collect()
        };
        let commands: Vec<String> = keys.iter().map(|key| command("DEL", &[Arg::Str(key)])).collect();
        let replies = self.batches(&commands, ports).await?;
        let deleted = replies.iter().filter(|reply| **reply == Value::Int(1)).count() as u64;
        let body = Object::new().number("deleted", deleted).number("looked_at", keys.len() as u64);
        Ok(Done { body, subject })
    }

    /// The buckets of every limit whose key is wholly named: in the sale's partition where it is keyed by sku, else in
    /// each.
    fn places<'e>(&self, edition: &'e Edition, named: &Named, caller: &Caller) -> Result<Vec<Place<'e>>, Refusal> {
        let config = &edition.config;
        let is_named = |part: &KeyPart| match part {
            KeyPart::User => caller.user.is_some(),
            KeyPart::Ip => caller.ip.is_some(),
            KeyPart::Sku => caller.sku.is_some(),
            KeyPart::Route => true,
        };
        let wanted = |name: &str| named.get("limit").is_none_or(|only| only == name);
        // A limit of everybody is nobody's bucket: it is only touched by its name.
        let meant = |limit: &Limit| !limit.key.is_empty() || named.get("limit").is_some();
        let mut places = Vec::new();
        for limit in config.limits.iter().filter(|l| wanted(&l.name) && meant(l) && l.key.iter().all(is_named)) {
            let at = config.limits.iter().position(|other| other.name == limit.name);
            let by_route = limit.key.contains(&KeyPart::Route);
            let routes = config.routes.iter().filter(|route| {
                !by_route
                    || (at.is_some_and(|at| route.limits.contains(&at))
                        && named.get("route").is_none_or(|only| only == route.name))
            });
            for route in routes.take(if by_route { usize::MAX } else { 1 }) {
                let subject = caller.subject(&limit.key, route);
                let route = by_route.then_some(route.name.as_str());
                let mut put = |partition| {
                    for shard in 0..limit.shards.get() {
                        let key = match limit.shards.get() {
                            1 => self.keys.bucket(partition, &limit.name, &subject),
                            _ => self.keys.shard(partition, &limit.name, &subject, shard),
                        };
                        places.push(Place { limit, route, partition, key });
                    }
                };
                match &caller.sku {
                    Some(sku) if limit.key.contains(&KeyPart::Sku) => put(self.keys.partition_of(sku)),
                    _ => self.keys.partitions().for_each(put),
                }
            }
        }
        if places.is_empty() { Err(bad("no limit is keyed by what was named")) } else { Ok(places) }
    }

    fn claim(&self, edition: &Edition, named: &Named, mut caller: Caller) -> Result<String, Refusal> {
        let by_name = |route: &&Route| Some(route.name.as_str()) == named.get("route");
        let route = edition.config.routes.iter().find(by_name).ok_or_else(|| bad("a claim needs its `route`"))?;
        if let (Some(text), Some(user), Some(sku)) = (named.get("order_token"), &caller.user, &caller.sku) {
            let token = self.tokens.verify(text, user, sku, None).map_err(|_| bad("the order token is not theirs"))?;
            caller.token = Some(token);
        }
        caller.client_key = named.get("idempotency_key").map(str::to_owned);
        let key =
            operation::of(route, &Request::default(), &caller)?.ok_or_else(|| bad("the route has no operations"))?;
        Ok(self.keys.claim(self.partition(&caller), &self.op(route, &caller, &key)))
    }

    /// Runs commands in as few requests as are decent.
    async fn batches<P: Ports>(&self, commands: &[String], ports: &P) -> Result<Vec<Value>, Refusal> {
        let mut replies = Vec::with_capacity(commands.len());
        for batch in commands.chunks(BATCH) {
            let timeout = Duration::from_millis(PATIENCE.0);
            let some = self.redis.pipeline(batch, timeout).await.map_err(|fault| away(&fault, ports))?;
            for reply in some {
                replies.push(reply.map_err(|fault| away(&fault, ports))?);
            }
        }
        Ok(replies)
    }
}

/// The reply of TIME.
fn micros(reply: &Value) -> Option<Micros> {
    let Value::Array(items) = reply else { return None };
    let [Value::Str(seconds), Value::Str(rest)] = items.as_slice() else { return None };
    Some(Micros(seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(rest.parse().ok()?)?))
}

fn shown(place: &Place<'_>, tat: Micros, now: Micros) -> String {
    // At cost 0: what a request would find, without being one.
    let charge = Charge { quota: place.limit.quota, cost: Cost(0) };
    let level = charge.level(tat, now);
    let one = Charge { cost: Cost(1), ..charge };
    let wait = one.wait(level).unwrap_or_default();
    Object::new()
        .text("limit", &place.limit.name)
        .maybe("route", place.route)
        .number("partition", place.partition.0.into())
        .number("burst", place.limit.quota.burst().into())
        .number("remaining", charge.remaining(level))
        .number("full_in_ms", level.0.ceil_millis().0)
        .number("retry_after_ms", wait.ceil_millis().0)
        .done()
}
