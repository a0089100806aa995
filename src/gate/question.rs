//! What Redis is asked about a request: the operation that it claims, and the buckets that it is charged to.

use sluice_upstash::Transport;

use super::edition::Edition;
use super::ports::{Ports, Request};
use super::trace::Trace;
use super::who::Caller;
use super::{Gate, whole};
use crate::admit::Charge;
use crate::config::{Action, IpMissing, KeyPart, Limit, OnAmbiguous, Route};
use crate::digest::Tag;
use crate::model::{Millis, Partition, Sku};
use crate::script::admit::{Call, Claiming, StoredToken};
use crate::shed::denied::Bucket;

/// How much longer than it holds a stored token is kept.
const MARGIN: Millis = Millis(10_000);

/// A call, and what its parts stand for.
pub(super) struct Question<'g> {
    pub(super) sku: Option<&'g Sku>,
    /// What the operation is known by in this isolate's memory, and in its claim's key.
    pub(super) op: Option<Tag>,
    /// The limits that apply, those in shadow last, as are their buckets.
    pub(super) limits: Vec<&'g Limit>,
    pub(super) buckets: Vec<Bucket>,
    pub(super) call: Call,
    /// The id of the order token that is to be issued.
    pub(super) token_id: Option<[u8; 16]>,
    /// How long Redis may take, all calls together.
    pub(super) patience: Millis,
    pub(super) trace: &'g Trace,
}

impl<'g> Question<'g> {
    /// The operation, with the fingerprint of its request.
    pub(super) fn operation(&self) -> Option<(Tag, Tag)> {
        self.op.zip(self.call.claiming.as_ref().map(|claiming| claiming.fingerprint))
    }

    /// The limits that can refuse, with their buckets and charges.
    pub(super) fn enforced(&self) -> impl Iterator<Item = (&'g Limit, &Bucket, Charge)> + use<'_, 'g> {
        let charges = self.call.buckets.iter().map(|(_, charge)| *charge);
        let all = self
            .limits
            .iter()
            .zip(&self.buckets)
            .zip(charges)
            .map(|((limit, bucket), charge)| (*limit, bucket, charge));
        all.take(self.limits.len().saturating_sub(self.call.shadow))
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// What is to be asked about a request.
    pub(super) fn question<'g, P: Ports>(
        &self,
        edition: &'g Edition,
        route: &Route,
        request: &Request,
        caller: &'g Caller,
        ports: &P,
        trace: &'g Trace,
    ) -> Question<'g> {
        let sku = caller.sku.as_ref();
        let partition = self.partition(caller);
        let (mut limits, mut buckets, mut keyed) = (Vec::new(), Vec::new(), Vec::new());
        let mut apply: Vec<(usize, &Limit)> = limits_of(edition, route, caller)
            .into_iter()
            .filter_map(|at| edition.config.limits.get(at).map(|limit| (at, limit)))
            .collect();
        let in_shadow = |limit: &Limit| route.shadow || limit.shadow;
        apply.sort_by_key(|(_, limit)| in_shadow(limit));
        let shadow = apply.iter().filter(|(_, limit)| in_shadow(limit)).count();
        for (at, limit) in apply {
            let subject = caller.subject(&limit.key, route);
            let key = match limit.shards.get() {
                1 => self.keys.bucket(partition, &limit.name, &subject),
                shards => {
                    let mine = self.memory.chance(|| ports.random()) % shards;
                    self.keys.shard(partition, &limit.name, &subject, mine)
                }
            };
            keyed.push((key, Charge { quota: limit.quota, cost: limit.cost(caller.quantity) }));
            buckets.push(Bucket { version: edition.limit_version(at), limit: at, subject });
            limits.push(limit);
        }
        let op = caller.operation.map(|key| self.op(route, caller, &key));
        let claiming = op.map(|op| self.claiming(edition, route, request, caller, op, ports));
        let token_id = (route.action == Action::IssueToken).then(|| ports.random());
        let token = edition.config.stored_tokens.then(|| {
            // Redis' clock and the isolate's may differ: no stored token is gone before its time.
            let kept = edition.config.token_lifetime.plus(MARGIN);
            let consumed = caller.token.map(|token| (token.id, token.expires));
            consumed.or(token_id.map(|id| (Tag::of_bytes(id), kept)))
        });
        let token = token.flatten().map(|(id, time)| StoredToken { key: self.keys.token(partition, &id), time });
        let revoked = caller.jti.as_deref().map(|jti| self.keys.revoked(partition, jti));
        let call = Call { claiming, revoked, token, buckets: keyed, shadow, ..Call::default() };
        Question { sku, op, limits, buckets, call, token_id, patience: edition.config.redis_deadline, trace }
    }

    /// The operation: who asks by which key, for what.
    pub(super) fn op(&self, route: &Route, caller: &Caller, key: &Tag) -> Tag {
        let sku = caller.sku.as_ref().map_or("", Sku::as_str);
        Tag::of(&[self.keys.prefix(), key.as_str(), &route.method, &route.name, sku].map(str::as_bytes))
    }

    fn claiming<P: Ports>(
        &self,
        edition: &Edition,
        route: &Route,
        request: &Request,
        caller: &Caller,
        op: Tag,
        ports: &P,
    ) -> Claiming {
        let client_key = caller.client_key.as_deref().unwrap_or_default();
        let derived = route.lease();
        Claiming {
            key: self.keys.claim(self.partition(caller), &op),
            owner: Tag::of_bytes(ports.random()),
            fingerprint: Tag::of(&[whole(request), client_key.as_bytes()]),
            // When a derived key comes back after its time it is another operation, and the origin must see another.
            op_id: if derived.is_some() { Tag::of_bytes(ports.random()) } else { op },
            lease: derived.unwrap_or(edition.config.claim.lease),
            retention: derived.unwrap_or(edition.config.claim.retention),
            held: route.on_ambiguous == OnAmbiguous::Hold,
        }
    }

    /// Where the request's keys live: with its sale, else in the first partition.
    pub(super) fn partition(&self, caller: &Caller) -> Partition {
        caller.sku.as_ref().map_or(Partition(0), |sku| self.keys.partition_of(sku))
    }
}

/// Positions of the route's limits: none for who is exempt; without a client address, the shared limit in place of those
/// keyed by it.
fn limits_of(edition: &Edition, route: &Route, caller: &Caller) -> Vec<usize> {
    let by_ip = |at: &usize| edition.config.limits.get(*at).is_some_and(|limit| limit.key.contains(&KeyPart::Ip));
    match edition.config.identity.ip_missing {
        _ if caller.exempt => Vec::new(),
        IpMissing::Shared(shared) if caller.ip.is_none() && route.limits.iter().any(by_ip) => {
            route.limits.iter().copied().filter(|at| !by_ip(at)).chain([shared]).collect()
        }
        _ => route.limits.clone(),
    }
}
