//! What passes goes to the origin; what the origin says is sent on, remembered, and written to the claim.

use std::rc::Rc;

use sluice_upstash::Transport;

use super::admission::{Admitted, Held, fault_line, time_left};
use super::edition::Edition;
use super::outcome::{self, Finish};
use super::ports::{Answer, Body, Forward, OriginFault, Ports, Request};
use super::refusal::{self, Refusal};
use super::trace::Trace;
use super::who::Caller;
use super::{Gate, headers, traceparent, whole};
use crate::api::code::Code;
use crate::api::problem::{self, Problem};
use crate::api::{IDEMPOTENCY_KEY, SOLD_OUT};
use crate::assertion::{self, Assertion, Operation};
use crate::config::{OnAmbiguous, Route};
use crate::digest::{self, Tag};
use crate::model::Millis;
use crate::script::complete;
use crate::script::release::{self, Release};

impl<T: Transport + 'static> Gate<T> {
    /// Forwards a request that was admitted.
    #[allow(clippy::too_many_arguments, reason = "what the life of a request has gathered by then")]
    pub(super) async fn forward<P: Ports>(
        self: &Rc<Self>,
        edition: &Edition,
        route: &Route,
        request: &Request,
        caller: &Caller,
        admitted: &Admitted<'_>,
        ports: &P,
        id: Tag,
        trace: &Trace,
    ) -> Result<Answer, Refusal> {
        let operation = admitted.operation.as_ref();
        let begun = ports.now();
        let until = begun.plus(route.origin_deadline);
        let Some(slot) = self.memory.take_slot(edition.config.in_flight, until, begun) else {
            if let Some(operation) = operation {
                self.give_up(route, operation, ports);
            }
            return Err(Refusal { met: admitted.owned(), ..refusal::busy().into() });
        };
        let mut headers = headers::towards_origin(&request.headers);
        let vouched = assertion(request, caller, operation.map(|o| o.assertion.clone()));
        headers.push((assertion::HEADER.to_owned(), self.assertions.sign(vouched, ports.now())));
        headers.push(("x-request-id".to_owned(), id.to_string()));
        traceparent::ensure(&mut headers, &id);
        headers.push(("accept-encoding".to_owned(), "identity".to_owned()));
        if let Some(operation) = operation {
            headers.push((IDEMPOTENCY_KEY.to_owned(), operation.assertion.id.clone()));
        }
        let forward = Forward {
            method: request.method.clone(),
            target: request.target(),
            headers,
            body: whole(request).to_vec(),
            streams: route.streams().then_some(route.body_limit),
            timeout: route.origin_deadline,
        };
        let sent = ports.now();
        let outcome = ports.forward(forward).await;
        let took = ports.now().minus(sent);
        self.memory.give_slot(slot);
        trace.origin.set(Some(took));
        self.learn(caller, &outcome, ports.now());
        if let Some(operation) = operation {
            self.settle(route, operation, &outcome, ports);
        }
        match outcome {
            Ok(mut answer) => {
                let response = &mut answer.response;
                let pairs = response.headers.iter().map(|(n, v)| (n.as_ref(), v.as_str()));
                let named = headers::connection(pairs);
                response.headers.retain(|(name, _)| headers::towards_client(name, &named));
                Ok(answer)
            }
            Err(fault) => {
                ports.log(&format!(r#"{{"event":"origin","fault":"{fault:?}","request_id":"{id}"}}"#));
                Err(Refusal { met: admitted.owned(), ..origin_problem(fault, route, operation.is_some(), took).into() })
            }
        }
    }

    /// What an answer says of the sale, for the requests to come.
    fn learn(&self, caller: &Caller, outcome: &Result<Answer, OriginFault>, now: Millis) {
        let (Some(sku), Ok(Answer { response, .. })) = (&caller.sku, outcome) else { return };
        if let Some(at) = response.get(SOLD_OUT).and_then(|at| at.parse().ok()) {
            self.memory.sold_out(sku, Millis(at), now);
        }
        if response.status == 404 && problem::code_of(response).as_deref() == Some(Code::SaleUnknown.as_str()) {
            self.memory.unknown(sku, now);
        }
    }

    /// Decides what becomes of an operation, remembers it, and has it written to the claim after the answer.
    fn settle<P: Ports>(
        self: &Rc<Self>,
        route: &Route,
        operation: &Held,
        outcome: &Result<Answer, OriginFault>,
        ports: &P,
    ) {
        let finish = outcome::finish(outcome, route.on_ambiguous, Millis(operation.assertion.not_after));
        match outcome::lasting(outcome, &finish) {
            Some(answer) => self.memory.answered(operation.op, operation.fingerprint, answer, ports.now()),
            None => self.memory.forget(&operation.op),
        }
        self.write(operation, finish, ports);
    }

    /// Gives up an operation that was claimed and never sent. One that was taken over may have reached the origin by its
    /// first owner, so its record stays, open to the next attempt.
    fn give_up<P: Ports>(self: &Rc<Self>, route: &Route, operation: &Held, ports: &P) {
        self.memory.forget(&operation.op);
        let how = match route.on_ambiguous {
            OnAmbiguous::Hold => Release::Forget,
            OnAmbiguous::Retry => Release::NotBefore(Millis(1)),
        };
        self.write(operation, Finish::Release(how), ports);
    }

    /// Has what became of an operation written to its claim, after the answer.
    fn write<P: Ports>(self: &Rc<Self>, operation: &Held, finish: Finish, ports: &P) {
        if finish != Finish::Nothing {
            let (gate, ports) = (Rc::clone(self), ports.clone());
            let patience = operation.patience;
            let (claim, owner) = (operation.assertion.claim.clone(), operation.owner);
            ports.clone().background(async move { gate.finish(claim, owner, finish, patience, &ports).await });
        }
    }

    /// Writes what became of an operation to its claim.
    async fn finish<P: Ports>(&self, claim: String, owner: Tag, finish: Finish, patience: Millis, ports: &P) {
        let left = time_left(patience, ports);
        let keys = [claim];
        let reply = match &finish {
            Finish::Nothing => return,
            Finish::Complete(answer) => {
                self.redis.eval(&complete::SCRIPT, &keys, &complete::args(&owner, answer.as_deref()), left).await
            }
            Finish::Release(how) => self.redis.eval(&release::SCRIPT, &keys, &release::args(&owner, *how), left).await,
        };
        match reply.map(|reply| complete::parse(&reply)) {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => {
                ports.log(r#"{"event":"claim","fault":"finished by another owner, or no longer in flight"}"#);
            }
            Ok(Err(fault)) => ports.log(&format!(r#"{{"event":"claim","fault":"{fault}"}}"#)),
            Err(fault) => ports.log(&fault_line("claim", &fault)),
        }
    }
}

/// What the gate vouches for towards the origin.
fn assertion(request: &Request, caller: &Caller, op: Option<Operation>) -> Assertion {
    Assertion {
        sub: caller.user.as_ref().map(ToString::to_string),
        ip: caller.ip.map(|ip| ip.to_string()),
        sku: caller.sku.as_ref().map(ToString::to_string),
        mtd: request.method.clone(),
        pth: request.target(),
        bdy: match request.body {
            // A body of these methods is never sent on.
            Body::Streamed if !matches!(request.method.as_str(), "GET" | "HEAD") => assertion::UNREAD.to_owned(),
            _ => digest::body_hash(whole(request)),
        },
        op,
    }
}

/// What a client is told when the origin gave no answer, and when to ask again.
fn origin_problem(fault: OriginFault, route: &Route, is_operation: bool, took: Millis) -> Problem {
    let code = match fault {
        OriginFault::Timeout => Code::OriginTimeout,
        OriginFault::Unreachable => Code::OriginUnreachable,
        OriginFault::BodyTooLarge => return Code::BodyTooLarge.into(),
    };
    // Until `not_after` the first attempt may still reach the origin, and the claim keeps others out.
    let wait = match (is_operation, route.on_ambiguous) {
        (true, OnAmbiguous::Retry) => route.origin_deadline.minus(took).max(Millis(1_000)),
        _ => Millis(1_000),
    };
    Problem::from(code).retry_after(wait)
}
