//! `/__gate/…`: what operators ask and change while the gate runs. Behind a token of its own; without one there is nothing.

mod look;
mod probe;
mod subject;

use std::cell::RefCell;
use std::rc::Rc;

use sluice_upstash::{Fault, Transport};
use subtle::ConstantTimeEq as _;

use super::Gate;
use super::admission::fault_line;
use super::edition::Edition;
use super::ports::{Ports, Request};
use super::refusal::{self, LATER, Refusal};
use crate::api::code::Code;
use crate::api::json::Object;
use crate::api::problem::Problem;
use crate::api::response::Response;
use crate::digest::{self, Tag};
use crate::identity::keyring::{self, BadSecret};
use crate::model::{Millis, Quota};
use crate::shed::Pace;

/// What operators' requests begin with.
pub(super) const PREFIX: &str = "/__gate/";
/// Largest body of an operator's request, in bytes.
pub(super) const BODY_LIMIT: usize = 16_384;
/// How long Redis or the origin may take for an operator.
const PATIENCE: Millis = Millis(2_000);

/// Who may ask, and how often.
#[derive(Debug)]
pub(super) struct Admin {
    /// Hashes of the tokens; empty: there are no such routes.
    tokens: Vec<[u8; 16]>,
    used: RefCell<Pace>,
    /// Wrong tokens are counted apart, so that nobody can keep operators out.
    failed: RefCell<Pace>,
}

impl Admin {
    /// Takes a comma-separated list of tokens; an empty list is fine.
    pub(super) fn new(list: &str) -> Result<Self, BadSecret> {
        let tokens = match keyring::secrets(list) {
            Ok(all) => all.iter().map(|token| digest::hash128(&[token])).collect(),
            Err(BadSecret::Missing) => Vec::new(),
            Err(fault) => return Err(fault),
        };
        let pace = || RefCell::new(Pace::new(Quota::parse(20, "5/s").ok()));
        Ok(Self { tokens, used: pace(), failed: pace() })
    }

    fn check(&self, request: &Request, now: Millis) -> Result<(), Refusal> {
        if self.tokens.is_empty() {
            return Err(Code::NotFound.into());
        }
        let header = request.header("authorization");
        let sent =
            header.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let hash = digest::hash128(&[sent.map_or("", |(_, token)| token.trim()).as_bytes()]);
        // All are compared, each in constant time.
        let known = self.tokens.iter().fold(subtle::Choice::from(0), |known, token| known | token.ct_eq(&hash));
        let (pace, fault) = match (header, bool::from(known)) {
            (_, true) => (&self.used, None),
            (None, _) => (&self.failed, Some(Code::IdentityMissing)),
            _ => (&self.failed, Some(Code::IdentityInvalid)),
        };
        if let Err(wait) = pace.borrow_mut().take(now) {
            return Err(Problem::from(Code::TooManyRequests).retry_after(wait).into());
        }
        fault.map_or(Ok(()), |code| Err(code.into()))
    }
}

impl<T: Transport + 'static> Gate<T> {
    /// Answers an operator; `None` when the request is no operator's.
    pub(super) async fn operate<P: Ports>(
        self: &Rc<Self>,
        edition: &Edition,
        request: &Request,
        ports: &P,
        id: Tag,
    ) -> Option<Result<Response, Refusal>> {
        let what = request.path.strip_prefix(PREFIX)?;
        if let Err(refusal) = self.admin.check(request, ports.now()) {
            return Some(Err(refusal));
        }
        let done = match (what, if request.method == "HEAD" { "GET" } else { request.method.as_str() }) {
            ("config", "GET") => Ok(Done::of(self.configuration(edition))),
            ("probe", "GET") => Ok(Done::of(self.probe(ports).await)),
            ("counters", "GET") => self.counters(&request.query, ports).await,
            ("peek", "POST") => self.peek(edition, request, ports).await,
            ("reset", "POST") => self.reset(edition, request, ports).await,
            ("config" | "probe" | "counters", _) => Err(Problem::from(Code::MethodNotAllowed).allow(&["GET"]).into()),
            ("peek" | "reset", _) => Err(Problem::from(Code::MethodNotAllowed).allow(&["POST"]).into()),
            _ => Err(Code::NotFound.into()),
        };
        let (outcome, subject) = match &done {
            Ok(done) => ("done", done.subject),
            Err(refusal) => (refusal.problem.code.as_str(), None),
        };
        let line = Object::new()
            .text("event", "admin")
            .text("request_id", id.as_str())
            .text("at", what.get(..16).unwrap_or(what))
            .text("outcome", outcome)
            .maybe("subject", subject.as_ref().map(Tag::as_str));
        ports.log(&line.done());
        Some(done.map(|done| Response::json(200, done.body.done().into_bytes())))
    }
}

/// What was done, and to whom: never the id itself.
struct Done {
    body: Object,
    subject: Option<Tag>,
}

impl Done {
    fn of(body: Object) -> Self {
        Self { body, subject: None }
    }
}

/// Redis did not answer an operator.
fn away<P: Ports>(fault: &Fault, ports: &P) -> Refusal {
    ports.log(&fault_line("admin", fault));
    refusal::degraded(LATER).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_could_be_guessed_is_a_misconfiguration_and_none_is_fine() {
        assert_eq!(Admin::new("short").err(), Some(BadSecret::TooShort));
        assert_eq!(Admin::new(&format!("{},short", "x".repeat(32))).err(), Some(BadSecret::TooShort));
        assert!(Admin::new("").unwrap().tokens.is_empty());
    }
}
