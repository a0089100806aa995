//! From a request to one call to Redis: what memory already knows, when Redis is asked, and how often.

use std::rc::Rc;
use std::time::Duration;

use sluice_upstash::{Arg, Fault, Transport};

use super::Gate;
use super::edition::Edition;
use super::judge::{degraded, judge, replay};
use super::memory::Recalled;
use super::ports::{Ports, Request};
use super::question::Question;
use super::refusal::{self, LATER, OwnedMet, Refusal};
use super::trace::Trace;
use super::who::Caller;
use crate::admit::Verdict;
use crate::api::code::Code;
use crate::api::json::Object;
use crate::api::ratelimit::Met;
use crate::api::response::Response;
use crate::assertion::Operation;
use crate::config::{Action, Route};
use crate::digest::Tag;
use crate::model::{Millis, Sku};
use crate::script::admit::{self, Call, Claiming, Reply, Sale};
use crate::script::counters;
use crate::script::release::{self, Release};
use crate::shed::breaker::Permit;

/// A request that may go on, or an answer that is there already.
pub(super) enum Passage<'g> {
    /// It passes.
    Admitted(Admitted<'g>),
    /// It was answered before.
    Replay(Response),
}

/// What a request that passes carries on.
#[derive(Default)]
pub(super) struct Admitted<'g> {
    /// The limits, charged.
    pub(super) met: Vec<Met<'g>>,
    /// Its operation, claimed.
    pub(super) operation: Option<Held>,
    /// The id of the order token that is to be issued.
    pub(super) token_id: Option<[u8; 16]>,
}

/// A claimed operation.
pub(super) struct Held {
    /// What it is known by in this isolate's memory.
    pub(super) op: Tag,
    pub(super) fingerprint: Tag,
    pub(super) owner: Tag,
    pub(super) assertion: Operation,
    /// How long writing its outcome may take.
    pub(super) patience: Millis,
}

impl Admitted<'_> {
    /// The limits met, for an answer that outlives the configuration.
    pub(super) fn owned(&self) -> Vec<OwnedMet> {
        self.met.iter().map(|m| (m.name.to_owned(), m.charge, m.level)).collect()
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// Asks memory, then Redis, whether the request may pass.
    pub(super) async fn admit<'g, P: Ports>(
        self: &Rc<Self>,
        edition: &'g Edition,
        route: &Route,
        request: &Request,
        caller: &'g Caller,
        ports: &P,
        trace: &'g Trace,
    ) -> Result<Passage<'g>, Refusal> {
        let now = ports.now();
        let mut question = self.question(edition, route, request, caller, ports, trace);
        if !question.enforced().all(|(_, _, charge)| charge.is_admissible()) {
            return Err(Code::NeverAdmissible.into());
        }
        // A token holds from the sale's start on, which only Redis knows: issuing asks for it even without limits.
        let Call { claiming, buckets, revoked, .. } = &question.call;
        let asks_nothing = claiming.is_none() && buckets.is_empty() && revoked.is_none();
        if asks_nothing && route.action == Action::Forward {
            return Ok(Passage::Admitted(Admitted::default()));
        }
        let late = caller.token_expired.then(|| Refusal::from(Code::TokenExpired));
        let refusal = match self.memory.recall(&question, now) {
            Recalled::Answer(answer) => {
                trace.shed.set(true);
                return replay(&answer);
            }
            Recalled::Refused(refusal) => Some(late.unwrap_or(refusal)),
            Recalled::Nothing => late,
        };
        let busy = || self.memory.is_busy(edition.config.in_flight, now).then(|| refusal::busy().into());
        let refusal = refusal.or_else(|| busy().filter(|_| route.action == Action::Forward));
        if let Some(refusal) = &refusal {
            // Only an operation that was tried before can have an outcome that this refusal would hide.
            let is_operation = question.call.claiming.is_some();
            let repeated = is_operation && caller.attempt > 1 && self.memory.may_repeat(now);
            if !repeated {
                trace.shed.set(true);
                return Err(if is_operation { refusal.clone().shed() } else { refusal.clone() });
            }
            question.call.else_refuse = true;
        }
        self.ask(route, question, refusal, ports).await
    }

    async fn ask<'g, P: Ports>(
        self: &Rc<Self>,
        route: &Route,
        mut question: Question<'g>,
        refusal: Option<Refusal>,
        ports: &P,
    ) -> Result<Passage<'g>, Refusal> {
        let asked = ports.now();
        if let Permit::Refused(wait) = self.memory.permit(asked) {
            return self.without_redis(route, &question, wait.max(LATER), ports);
        }
        let patience = question.patience;
        let deadline = asked.plus(patience);
        question.call.call_by = self.memory.latest(deadline);
        // What memory refuses is no new attempt of this isolate's, and brings no snapshot.
        let begun = question.operation().filter(|_| refusal.is_none());
        if let Some((op, fingerprint)) = begun {
            self.memory.begin(op, fingerprint, deadline.plus(route.origin_deadline));
        }
        // A token holds from the sale's start on, which only Redis knows; what is sold out may still be restocked.
        let shows = route.action == Action::ShowSale;
        let reads_sale = begun.is_some() || shows || route.action == Action::IssueToken;
        let known = question.sku.and_then(|sku| self.memory.sale(sku, asked));
        // How long a token holds and is kept depends on the sale's start, so that is read where it is not known. Who only
        // looks is shown the sale from memory where that is possible, and so has to read it here.
        let must = shows || route.action == Action::IssueToken && known.is_none();
        let reads = |sku: &&Sku| reads_sale && (self.memory.begin_refresh(sku, asked) || must);
        let mut also = Vec::new();
        if let Some(sku) = question.sku.filter(reads) {
            also = counters::add(&self.keys.counters(sku), &self.memory.take_counts(sku));
            question.call.sale =
                Some(Sale { keys: [self.keys.sale(sku), self.keys.stock(sku)], refuses: begun.is_some() });
        } else if let (Some(token), Some(sale), Action::IssueToken) = (&mut question.call.token, known, route.action) {
            token.time = token.time.plus(sale.starts_at.minus(asked));
        }
        let outcome = self.call(&question.call, also, patience, ports).await;
        let heard = ports.now();
        question.trace.redis.set(Some(heard.minus(asked)));
        let admitted = matches!(&outcome, Ok(reply) if matches!(reply.verdict, Verdict::Admitted { .. }));
        if let (Some((op, _)), false) = (begun, admitted) {
            self.memory.forget(&op);
        }
        match outcome {
            Ok(reply) => {
                self.memory.learn(&question, &reply, asked, heard);
                if reply.verdict == Verdict::TooLate {
                    return self.without_redis(route, &question, LATER, ports);
                }
                judge(&question, reply, refusal, route)
            }
            Err(fault) => {
                self.memory.failed(&fault, heard);
                ports.log(&fault_line(&route.name, &fault));
                if let (Some(claiming), Fault::Timeout | Fault::Unreachable(_)) =
                    (question.call.claiming.take(), &fault)
                {
                    let (gate, world) = (Rc::clone(self), ports.clone());
                    ports.background(async move { gate.forget(&claiming, patience, &world).await });
                }
                self.without_redis(route, &question, LATER, ports)
            }
        }
    }

    /// What the route grants while Redis is away. Whoever passes without having been looked up is named by the mark that
    /// was not read, so that an audit can tell who was revoked.
    fn without_redis<'g, P: Ports>(
        &self,
        route: &Route,
        question: &Question<'g>,
        wait: Millis,
        ports: &P,
    ) -> Result<Passage<'g>, Refusal> {
        let passage = degraded(&self.memory, route, question, wait, ports.now())?;
        if let Some(mark) = &question.call.revoked {
            let mark = mark.rsplit(':').next().unwrap_or_default();
            ports.log(&format!(r#"{{"event":"revocation_skipped","at":"{}","mark":"{mark}"}}"#, route.name));
        }
        Ok(passage)
    }

    /// Gives up the claim of a call that brought no answer: Redis may have run it, or may yet, and would keep the user
    /// out for the lease although nothing was begun. The script is sent whole, because a Redis that is slow to say
    /// that it does not know it would leave no time to send it again. Where this fails too, the lease ends by itself.
    async fn forget<P: Ports>(&self, claiming: &Claiming, patience: Millis, ports: &P) {
        let mut args = vec![Arg::Str(release::SCRIPT.source()), Arg::Int(1), Arg::Str(&claiming.key)];
        args.extend(release::args(&claiming.owner, Release::Forget));
        let timeout = time_left(patience, ports)();
        if let Err(fault) = self.redis.call("EVAL", &args, timeout).await {
            ports.log(&fault_line("claim", &fault));
        }
    }

    /// One EVALSHA. A claim whose first call broke off is asked once more within the same deadline: its nonce makes
    /// the second call meet the first one's claim.
    /// `also` travels with the first call only, so that nothing is counted twice.
    async fn call<P: Ports>(
        &self,
        call: &Call,
        also: Vec<String>,
        patience: Millis,
        ports: &P,
    ) -> Result<Reply, Fault> {
        let (keys, args) = (call.keys(), call.args());
        let left = time_left(patience, ports);
        let mut reply = if also.is_empty() {
            self.redis.eval(&admit::SCRIPT, &keys, &args, &left).await
        } else {
            self.redis.eval_and(&admit::SCRIPT, &keys, &args, also, &left).await
        };
        if matches!(reply, Err(Fault::Unreachable(_))) && call.claiming.is_some() && !left().is_zero() {
            reply = self.redis.eval(&admit::SCRIPT, &keys, &args, &left).await;
        }
        match admit::parse(reply?) {
            Ok(Reply { verdict: Verdict::ElseRefused, .. }) if !call.else_refuse => {
                Err(Fault::Malformed("a refusal that was not asked for"))
            }
            Ok(Reply { would_refuse, .. }) if would_refuse.iter().any(|at| at + call.shadow < call.buckets.len()) => {
                Err(Fault::Malformed("a limit that refuses and does not"))
            }
            reply => reply.map_err(|_| Fault::Malformed("not the reply of admit.lua")),
        }
    }
}

/// Time that is left of one request's `patience` for Redis, counted from now.
pub(super) fn time_left<P: Ports>(patience: Millis, ports: &P) -> impl Fn() -> Duration + use<P> {
    let (ports, end) = (ports.clone(), ports.now().plus(patience));
    move || Duration::from_millis(end.minus(ports.now()).0)
}

/// A log line about a call to Redis that brought nothing.
pub(super) fn fault_line(place: &str, fault: &Fault) -> String {
    let event = if *fault == Fault::Unauthorized { "misconfigured" } else { "degraded" };
    Object::new().text("event", event).text("at", place).text("fault", &fault.to_string()).done()
}
