//! One call to Redis, and what its verdict leads to. The one place that holds the outage policy.

use std::rc::Rc;
use std::time::Duration;

use sluice_upstash::{Arg, Fault, Transport};

use super::ports::{Ports, Request};
use super::who::Caller;
use super::{Gate, Refusal, whole};
use crate::admit::{Charge, Level, Verdict};
use crate::api::code::Code;
use crate::api::problem::Problem;
use crate::api::ratelimit::{self, Met};
use crate::api::response::Response;
use crate::api::{REPLAYED, answer};
use crate::assertion::Operation;
use crate::config::{IpMissing, KeyPart, Limit, OnAmbiguous, OnRedisDown, Route};
use crate::digest::Tag;
use crate::model::{Cost, Millis, Partition};
use crate::script::admit::{self, Call, Claiming};
use crate::script::release::{self, Release};

/// When a client may try again while Redis is away.
const DEGRADED_RETRY: Millis = Millis(2_000);

/// A request that may go on, or an answer that is there already.
pub(super) enum Passage<'g> {
    /// It passes.
    Admitted(Admitted<'g>),
    /// It was answered before.
    Replay(Response),
}

/// What a request that passes carries on.
pub(super) struct Admitted<'g> {
    /// The limits, charged.
    pub(super) met: Vec<Met<'g>>,
    /// Its operation, claimed.
    pub(super) operation: Option<Held>,
}

/// A claimed operation.
pub(super) struct Held {
    pub(super) owner: Tag,
    pub(super) assertion: Operation,
}

impl Admitted<'_> {
    /// The limits met, for an answer that outlives the configuration.
    pub(super) fn owned(&self) -> Vec<(String, Charge, Level)> {
        self.met.iter().map(|m| (m.name.to_owned(), m.charge, m.level)).collect()
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// Asks Redis whether the request may pass.
    pub(super) async fn admit<P: Ports>(
        self: &Rc<Self>,
        route: &Route,
        request: &Request,
        caller: &Caller,
        ports: &P,
    ) -> Result<Passage<'_>, Refusal> {
        let partition = caller.sku.as_ref().map_or(Partition(0), |sku| self.keys.partition_of(sku));
        let limits = self.limits_of(route, caller);
        let charge = |limit: &Limit| Charge { quota: limit.quota, cost: Cost(1) };
        if !limits.iter().all(|limit| charge(limit).is_admissible()) {
            return Err(Code::NeverAdmissible.into());
        }
        let bucket = |limit: &&Limit| {
            let key = self.keys.bucket(partition, &limit.name, &caller.subject(&limit.key, route));
            (key, charge(limit))
        };
        let call = Call {
            claiming: self.claiming(route, request, caller, partition, ports),
            buckets: limits.iter().map(bucket).collect(),
            ..Call::default()
        };
        if call.claiming.is_none() && call.buckets.is_empty() {
            return Ok(Passage::Admitted(Admitted { met: Vec::new(), operation: None }));
        }
        match self.ask(&call, ports).await {
            Ok((verdict, now)) => self.judge(verdict, now, route, &limits, &call),
            Err(fault) => {
                if let (Some(claiming), Fault::Timeout | Fault::Unreachable(_)) = (call.claiming, &fault) {
                    let (gate, world) = (Rc::clone(self), ports.clone());
                    ports.background(async move { gate.forget(&claiming, &world).await });
                }
                degraded(route, &fault, ports)
            }
        }
    }

    /// Gives up the claim of a call that brought no answer: Redis may have run it, or may yet, and would keep the user
    /// out for the lease although nothing was begun. The script is sent whole, because a Redis that is slow to say
    /// that it does not know it would leave no time to send it again. Where this fails too, the lease ends by itself.
    async fn forget<P: Ports>(&self, claiming: &Claiming, ports: &P) {
        let mut args = vec![Arg::Str(release::SCRIPT.source()), Arg::Int(1), Arg::Str(&claiming.key)];
        args.extend(release::args(&claiming.owner, Release::Forget));
        let timeout = self.time_left(ports)();
        if let Err(fault) = self.redis.call("EVAL", &args, timeout).await {
            ports.log(&fault_line("claim", &fault));
        }
    }

    /// The route's limits; without a client address, the shared limit in place of those keyed by it.
    fn limits_of(&self, route: &Route, caller: &Caller) -> Vec<&Limit> {
        let all = route.limits.iter().filter_map(|at| self.config.limits.get(*at));
        let IpMissing::Shared(shared) = self.config.identity.ip_missing else { return all.collect() };
        if caller.ip.is_some() {
            return all.collect();
        }
        let (by_ip, mut others): (Vec<&Limit>, Vec<&Limit>) = all.partition(|l| l.key.contains(&KeyPart::Ip));
        if !by_ip.is_empty() {
            others.extend(self.config.limits.get(shared));
        }
        others
    }

    fn claiming<P: Ports>(
        &self,
        route: &Route,
        request: &Request,
        caller: &Caller,
        partition: Partition,
        ports: &P,
    ) -> Option<Claiming> {
        let (user, sku, token) = (caller.user.as_ref()?, caller.sku.as_ref()?, caller.token.as_ref()?);
        let op = Tag::of(&[
            self.keys.prefix().as_bytes(),
            user.as_str().as_bytes(),
            route.method.as_bytes(),
            route.name.as_bytes(),
            sku.as_str().as_bytes(),
            token.as_str().as_bytes(),
        ]);
        let client_key = caller.client_key.as_deref().unwrap_or_default();
        Some(Claiming {
            key: self.keys.claim(partition, &op),
            owner: Tag::of_bytes(ports.random()),
            fingerprint: Tag::of(&[whole(request), client_key.as_bytes()]),
            op_id: op,
            lease: self.config.claim.lease,
            retention: self.config.claim.retention,
            held: route.on_ambiguous == OnAmbiguous::Hold,
        })
    }

    /// One EVALSHA. A claim whose first call broke off is asked once more within the same deadline: its nonce makes
    /// the second call meet the first one's claim.
    async fn ask<P: Ports>(&self, call: &Call, ports: &P) -> Result<(Verdict, Millis), Fault> {
        let (keys, args) = (call.keys(), call.args());
        let left = self.time_left(ports);
        let mut reply = self.redis.eval(&admit::SCRIPT, &keys, &args, &left).await;
        if matches!(reply, Err(Fault::Unreachable(_))) && call.claiming.is_some() && !left().is_zero() {
            reply = self.redis.eval(&admit::SCRIPT, &keys, &args, &left).await;
        }
        admit::parse(reply?).map_err(|_| Fault::Malformed("not the reply of admit.lua"))
    }

    /// Time that is left of one request's deadline for Redis, counted from now.
    pub(super) fn time_left<P: Ports>(&self, ports: &P) -> impl Fn() -> Duration + use<P, T> {
        let (ports, end) = (ports.clone(), ports.now().plus(self.config.redis_deadline));
        move || Duration::from_millis(end.minus(ports.now()).0)
    }

    fn judge<'g>(
        &'g self,
        verdict: Verdict,
        now: Millis,
        route: &Route,
        limits: &[&'g Limit],
        call: &Call,
    ) -> Result<Passage<'g>, Refusal> {
        let met = |levels: &[Level]| -> Vec<Met<'g>> {
            let charges = call.buckets.iter().map(|(_, charge)| *charge);
            let each = limits.iter().zip(charges).zip(levels);
            each.map(|((limit, charge), level)| Met { name: &limit.name, charge, level: *level }).collect()
        };
        let refuse = |problem: Problem, met: &[Met<'_>]| -> Result<Passage<'g>, Refusal> {
            let met = met.iter().map(|m| (m.name.to_owned(), m.charge, m.level)).collect();
            Err(Refusal { problem, met })
        };
        match verdict {
            Verdict::Admitted { taken_over, levels } => {
                let operation = call.claiming.as_ref().map(|claiming| Held {
                    owner: claiming.owner,
                    assertion: Operation {
                        id: taken_over.unwrap_or_else(|| claiming.op_id.to_string()),
                        claim: claiming.key.clone(),
                        owner: claiming.owner.to_string(),
                        not_after: now.plus(route.origin_deadline).0,
                    },
                });
                Ok(Passage::Admitted(Admitted { met: met(&levels), operation }))
            }
            Verdict::Limited { levels } => {
                let met = met(&levels);
                refuse(Problem::from(Code::TooManyRequests).retry_after(ratelimit::wait(&met)), &met)
            }
            Verdict::Mismatch { levels } => refuse(Code::IdempotencyMismatch.into(), &met(&levels)),
            Verdict::InFlight { deadline } => {
                // The first attempt usually ends long before its lease does.
                let wait = deadline.minus(now).min(Millis(1_000));
                refuse(Problem::from(Code::InProgress).retry_after(wait), &[])
            }
            Verdict::Replay { answer } => match answer::unpack(&answer) {
                Some(mut response) => {
                    response.header(REPLAYED, "true");
                    Ok(Passage::Replay(response))
                }
                None => refuse(Code::OutcomeUnknown.into(), &[]),
            },
            Verdict::OutcomeUnknown => refuse(Code::OutcomeUnknown.into(), &[]),
            Verdict::Tombstone => {
                let detail = "The operation was answered before; its answer was too large to be kept.";
                refuse(Problem::from(Code::OutcomeUnknown).detail(detail), &[])
            }
            Verdict::TooLate => refuse(Problem::from(Code::Degraded).retry_after(DEGRADED_RETRY), &[]),
        }
    }
}

/// What a request gets while Redis is away. A verdict of its own: it never counts as admitted by the limits.
fn degraded<'g, P: Ports>(route: &Route, fault: &Fault, ports: &P) -> Result<Passage<'g>, Refusal> {
    ports.log(&fault_line(&route.name, fault));
    match route.on_redis_down {
        OnRedisDown::Open => Ok(Passage::Admitted(Admitted { met: Vec::new(), operation: None })),
        OnRedisDown::Closed => Err(Problem::from(Code::Degraded).retry_after(DEGRADED_RETRY).into()),
    }
}

/// A log line about a call to Redis that brought nothing.
pub(super) fn fault_line(place: &str, fault: &Fault) -> String {
    let event = if *fault == Fault::Unauthorized { "misconfigured" } else { "degraded" };
    serde_json::json!({ "event": event, "at": place, "fault": fault.to_string() }).to_string()
}
