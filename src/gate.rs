//! The life of a request: read, route, who, admit, forward, finish. Everything it needs of the world is a port.

pub mod headers;
pub mod outcome;
pub mod path;
pub mod ports;
pub mod who;

mod admission;

use std::rc::Rc;

use sluice_upstash::{Client, Transport};

use self::admission::{Admitted, Passage};
use self::outcome::Finish;
use self::ports::{Answer, Body, Forward, OriginFault, Ports, Request};
use self::who::Caller;
use crate::api::code::{Code, Language};
use crate::api::problem::Problem;
use crate::api::response::Response;
use crate::api::{IDEMPOTENCY_KEY, ratelimit};
use crate::assertion::{self, Assertion, Assertions, Operation};
use crate::config::{self, Action, OnAmbiguous, Route};
use crate::digest::{self, Tag};
use crate::identity::jwt::UserTokens;
use crate::identity::keyring::BadSecret;
use crate::model::Millis;
use crate::script::keys::Keyspace;
use crate::script::{complete, release};
use crate::token::OrderTokens;

/// The secrets of the four purposes, each a comma-separated list: the first signs, all verify.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// Of user JWTs.
    pub users: &'a str,
    /// Of order tokens.
    pub tokens: &'a str,
    /// Of assertions.
    pub assertions: &'a str,
}

/// The gate: configuration and keys, read once, and the way to Redis.
#[derive(Debug)]
pub struct Gate<T> {
    config: config::Gate,
    keys: Keyspace,
    users: UserTokens,
    tokens: OrderTokens,
    assertions: Assertions,
    redis: Client<T>,
}

impl<T: Transport + 'static> Gate<T> {
    /// A gate over `transport`.
    ///
    /// # Errors
    /// Which purpose's secret cannot be used, and why.
    pub fn new(config: config::Gate, secrets: Secrets<'_>, transport: T) -> Result<Self, (&'static str, BadSecret)> {
        let identity = &config.identity;
        let users = UserTokens::new(secrets.users, &identity.issuer, &identity.audience, identity.leeway)
            .map_err(|fault| ("users", fault))?;
        Ok(Self {
            keys: Keyspace::new(&config.prefix, config.partitions),
            users,
            tokens: OrderTokens::new(secrets.tokens).map_err(|fault| ("tokens", fault))?,
            assertions: Assertions::new(secrets.assertions).map_err(|fault| ("assertions", fault))?,
            redis: Client::new(transport),
            config,
        })
    }

    /// Answers a request. There is no way for it to fail: every fault is an answer.
    pub async fn handle<P: Ports>(self: &Rc<Self>, request: Request, ports: P) -> Answer {
        let id = Tag::of_bytes(ports.random());
        let language = Language::of(request.header("accept-language"));
        let mut answer = match self.serve(&request, &ports, id).await {
            Ok(answer) => answer,
            Err(refusal) => refusal.answer(language),
        };
        let response = &mut answer.response;
        response.headers.retain(|(name, _)| name != "cache-control" && name != "x-request-id");
        response.header("cache-control", "private, no-store");
        response.header("x-request-id", id.as_str());
        answer
    }

    async fn serve<P: Ports>(self: &Rc<Self>, request: &Request, ports: &P, id: Tag) -> Result<Answer, Refusal> {
        path::check(&request.path)?;
        if request.path == "/healthz" {
            return Ok(health(&request.method)?.into());
        }
        let (route, matched) = match self.config.route(&request.method, &request.path) {
            Ok(found) => found,
            Err(true) => return Err(Code::MethodNotAllowed.into()),
            Err(false) => return Err(Code::NotFound.into()),
        };
        let now = ports.now();
        let caller = who::identify(&self.config, route, &matched, request, &self.users, &self.tokens, now)?;
        match self.admit(route, request, &caller, ports).await? {
            Passage::Replay(response) => Ok(response.into()),
            Passage::Admitted(admitted) => {
                let mut answer = match route.action {
                    Action::IssueToken => self.issue(&caller, ports)?.into(),
                    Action::Forward => self.forward(route, request, &caller, &admitted, ports, id).await?,
                };
                ratelimit::add(&mut answer.response, &admitted.met);
                Ok(answer)
            }
        }
    }

    fn issue<P: Ports>(&self, caller: &Caller, ports: &P) -> Result<Response, Refusal> {
        let (Some(user), Some(sku)) = (&caller.user, &caller.sku) else { return Err(Code::IdentityMissing.into()) };
        let expires = ports.now().plus(self.config.token_lifetime);
        let token = self.tokens.issue(ports.random(), user, sku, expires);
        let body = serde_json::json!({ "token": token, "expires_at": expires.0 });
        Ok(Response::json(200, body.to_string().into_bytes()))
    }

    async fn forward<P: Ports>(
        self: &Rc<Self>,
        route: &Route,
        request: &Request,
        caller: &Caller,
        admitted: &Admitted<'_>,
        ports: &P,
        id: Tag,
    ) -> Result<Answer, Refusal> {
        let operation = admitted.operation.as_ref();
        let mut headers = headers::towards_origin(&request.headers);
        let vouched = assertion(request, caller, operation.map(|o| o.assertion.clone()));
        headers.push((assertion::HEADER.to_owned(), self.assertions.sign(vouched, ports.now())));
        headers.push(("x-request-id".to_owned(), id.to_string()));
        headers.push(("accept-encoding".to_owned(), "identity".to_owned()));
        if let Some(operation) = operation {
            headers.push((IDEMPOTENCY_KEY.to_owned(), operation.assertion.id.clone()));
        }
        let forward = Forward {
            method: request.method.clone(),
            target: request.target(),
            headers,
            body: whole(request).to_vec(),
            timeout: route.origin_deadline,
        };
        let outcome = ports.forward(forward).await;
        if let Some(operation) = operation {
            let not_after = Millis(operation.assertion.not_after);
            match outcome::finish(&outcome, route.on_ambiguous, not_after) {
                Finish::Nothing => {}
                finish => {
                    let (gate, ports) = (Rc::clone(self), ports.clone());
                    let (claim, owner) = (operation.assertion.claim.clone(), operation.owner);
                    ports.clone().background(async move { gate.finish(claim, owner, finish, &ports).await });
                }
            }
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
                Err(Refusal { met: admitted.owned(), ..origin_problem(fault, route, operation.is_some()).into() })
            }
        }
    }

    /// Writes what became of an operation to its claim.
    async fn finish<P: Ports>(&self, claim: String, owner: Tag, finish: Finish, ports: &P) {
        let left = self.time_left(ports);
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
            Err(fault) => ports.log(&admission::fault_line("claim", &fault)),
        }
    }
}

/// A refusal: the problem, and the limits it met.
struct Refusal {
    problem: Problem,
    met: Vec<(String, crate::admit::Charge, crate::admit::Level)>,
}

impl Refusal {
    fn answer(&self, language: Language) -> Answer {
        let mut response = self.problem.response(language);
        let met: Vec<_> = self
            .met
            .iter()
            .map(|(name, charge, level)| ratelimit::Met { name, charge: *charge, level: *level })
            .collect();
        ratelimit::add(&mut response, &met);
        response.into()
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problem, met: Vec::new() }
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Problem::from(code).into()
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self { response, streamed: false }
    }
}

/// The body's bytes; those of a body that is too large never get this far.
fn whole(request: &Request) -> &[u8] {
    match &request.body {
        Body::Whole(bytes) => bytes,
        Body::TooLarge => &[],
    }
}

fn health(method: &str) -> Result<Response, Code> {
    match method {
        "GET" | "HEAD" => Ok(Response::json(200, br#"{"status":"ok"}"#.to_vec())),
        _ => Err(Code::MethodNotAllowed),
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
        bdy: digest::body_hash(whole(request)),
        op,
    }
}

/// What a client is told when the origin gave no answer, and when to ask again.
fn origin_problem(fault: OriginFault, route: &Route, is_operation: bool) -> Problem {
    let code = match fault {
        OriginFault::Timeout => Code::OriginTimeout,
        OriginFault::Unreachable => Code::OriginUnreachable,
    };
    // Until `not_after` the first attempt may still reach the origin, and the claim keeps others out.
    let wait = match (is_operation, route.on_ambiguous) {
        (true, OnAmbiguous::Retry) => route.origin_deadline,
        _ => Millis(1_000),
    };
    Problem::from(code).retry_after(wait)
}
