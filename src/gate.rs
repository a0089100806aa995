//! The life of a request: read, route, who, admit, forward, finish. Everything it needs of the world is a port.

pub mod edition;
pub mod headers;
pub mod live;
pub mod outcome;
pub mod path;
pub mod ports;
pub mod who;

mod admin;
mod admission;
mod dress;
mod forward;
mod issue;
mod journal;
mod judge;
mod memory;
mod operation;
mod question;
mod refusal;
mod show;
mod trace;
mod traceparent;
mod user;

use std::cell::RefCell;
use std::rc::Rc;

use sluice_upstash::{Client, Transport};

use self::admin::Admin;
use self::admission::Passage;
use self::edition::{Document, Edition};
use self::issue::ChallengeSecret;
use self::journal::{Decision, Journal};
use self::live::{Deployment, Live};
use self::memory::Memory;
use self::ports::{Answer, Body, Point, Ports, Request};
use self::refusal::Refusal;
use self::trace::Trace;
use crate::api::code::{Code, Language};
use crate::api::problem::Problem;
use crate::api::response::Response;
use crate::api::{REPLAYED, ratelimit};
use crate::assertion::Assertions;
use crate::config::{self, Action};
use crate::digest::Tag;
use crate::identity::key_cache::KeyCache;
use crate::identity::keyring::{BadSecret, Verifying};
use crate::model::Algorithm;
use crate::script::keys::Keyspace;
use crate::token::OrderTokens;

/// The secrets of all purposes, each a comma-separated list: the first signs, all verify.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// Of user JWTs; may be empty where they are signed by public keys.
    pub users: &'a str,
    /// Of order tokens.
    pub tokens: &'a str,
    /// Of assertions.
    pub assertions: &'a str,
    /// Of the service that judges challenges: it is one, no list; may be empty where no challenge is demanded.
    pub challenge: &'a str,
    /// Of operators: they are compared and sign nothing. An empty list: there are no routes for operators.
    pub admin: &'a str,
}

/// The gate: the configuration in force, keys, what the isolate remembers, and the way to Redis.
#[derive(Debug)]
pub struct Gate<T> {
    edition: RefCell<Rc<Edition>>,
    live: Live,
    keys: Keyspace,
    users: Option<Verifying>,
    user_keys: RefCell<KeyCache>,
    tokens: OrderTokens,
    challenge: Option<ChallengeSecret>,
    assertions: Assertions,
    admin: Admin,
    redis: Client<T>,
    memory: Memory,
    journal: Journal,
}

impl<T: Transport + 'static> Gate<T> {
    /// A gate over `transport`.
    ///
    /// # Errors
    /// Which purpose's secret cannot be used, and why.
    pub fn new(
        mut document: Document,
        deployment: Deployment,
        secrets: Secrets<'_>,
        transport: T,
    ) -> Result<Self, (&'static str, BadSecret)> {
        let config = &mut document.gate;
        config.partitions = deployment.partitions.unwrap_or(config.partitions);
        if config.issue.challenge.is_some() && secrets.challenge.is_empty() {
            return Err(("challenge", BadSecret::Missing));
        }
        let by_secret = config.identity.algorithm == Algorithm::Hs256 || !secrets.users.is_empty();
        let users = by_secret.then(|| Verifying::new(secrets.users)).transpose().map_err(|fault| ("users", fault))?;
        let keys = Keyspace::new(&config.prefix, config.partitions);
        let (memory, journal) = (Memory::new(config), Journal::new(&config.log));
        let edition = Rc::new(Edition::new(document));
        Ok(Self {
            keys,
            users,
            user_keys: RefCell::default(),
            tokens: OrderTokens::new(secrets.tokens).map_err(|fault| ("tokens", fault))?,
            assertions: Assertions::new(secrets.assertions).map_err(|fault| ("assertions", fault))?,
            challenge: (!secrets.challenge.is_empty()).then(|| ChallengeSecret(secrets.challenge.to_owned())),
            admin: Admin::new(secrets.admin).map_err(|fault| ("admin", fault))?,
            redis: Client::new(transport),
            memory,
            journal,
            live: Live::new(deployment, Rc::clone(&edition)),
            edition: RefCell::new(edition),
        })
    }

    /// The configuration in force.
    fn edition(&self) -> Rc<Edition> {
        Rc::clone(&self.edition.borrow())
    }

    /// How the body of such a request is to be taken in: whole, up to so many bytes; `None`: not at all, for it is streamed
    /// or not wanted.
    pub fn reads(&self, method: &str, path: &str) -> Option<usize> {
        match self.edition().config.route(method, path) {
            Ok((route, _)) if !route.streams() => Some(route.body_limit),
            Err(_) if path.starts_with(admin::PREFIX) => Some(admin::BODY_LIMIT),
            _ => None,
        }
    }

    /// Answers a request. There is no way for it to fail: every fault is an answer.
    pub async fn handle<P: Ports>(self: &Rc<Self>, request: Request, ports: P) -> Answer {
        let id = Tag::of_bytes(ports.random());
        let begun = ports.now();
        let language = Language::of(request.header("accept-language"));
        let edition = self.edition();
        self.refresh_when_due(&edition, &ports);
        let found = edition.config.route(&request.method, &request.path);
        let trace = Trace::default();
        if let Err(methods) = &found
            && let Some(response) = dress::preflight(&edition.config, &request, methods, &id)
        {
            return response.into();
        }
        let (verdict, mut answer) = match self.serve(&edition, &found, &request, &ports, id, &trace).await {
            Ok(answer) if answer.response.get(REPLAYED).is_some() => ("replay", answer),
            Ok(answer) if trace.degraded.get() => (Code::Degraded.as_str(), answer),
            Ok(answer) => ("admitted", answer),
            Err(refusal) => (refusal.problem.code.as_str(), refusal.answer(language)),
        };
        let now = ports.now();
        let decision = Decision {
            request_id: &id,
            route: found.as_ref().ok().map(|(route, _)| route.name.as_str()),
            verdict,
            status: answer.response.status,
            passed: matches!(verdict, "replay" | "admitted"),
            shed: trace.shed.get(),
            degraded: trace.degraded.get(),
            would_refuse: &trace.would_refuse.borrow(),
            took: now.minus(begun),
        };
        if let Some(line) = self.journal.line(&decision, now) {
            ports.log(&line);
        }
        self.memory.count(&trace, verdict, now);
        if self.live.measures() {
            ports.measure(&Point {
                route: decision.route.unwrap_or_default(),
                verdict,
                sku: trace.sku.get().map_or("", |sku| sku.as_str()),
                took: decision.took,
                redis: trace.redis.get(),
                origin: trace.origin.get(),
            });
        }
        dress::dress(&edition.config, &request, &mut answer.response, &id, &trace);
        answer
    }

    async fn serve<P: Ports>(
        self: &Rc<Self>,
        edition: &Edition,
        found: &config::Found<'_>,
        request: &Request,
        ports: &P,
        id: Tag,
        trace: &Trace,
    ) -> Result<Answer, Refusal> {
        path::check(&request.path)?;
        if request.path == "/healthz" {
            return Ok(health(&request.method)?.into());
        }
        if let Some(answer) = self.operate(edition, request, ports, id).await {
            return Ok(answer?.into());
        }
        if self.live.has_flood()
            && let Some(key) = who::counted_as(&edition.config, request)?
            && !ports.flood(key.as_str()).await
        {
            trace.shed.set(true);
            return Err(Problem::from(Code::TooManyRequests).retry_after(edition.config.flood_period).into());
        }
        let (route, matched) = match found {
            Ok(found) => found,
            Err(allowed) if allowed.is_empty() => return Err(Code::NotFound.into()),
            Err(allowed) => return Err(Problem::from(Code::MethodNotAllowed).allow(allowed).into()),
        };
        let address = who::address(&edition.config, request)?;
        let user = self.user(edition, route, request, ports).await?;
        let known = who::Known { address, user };
        let caller = who::identify(&edition.config, route, matched, request, known, &self.tokens, ports.now())?;
        if let Some(sku) = &caller.sku {
            let _ = trace.sku.set(sku.clone());
        }
        if let (Action::ShowSale, Some(sku)) = (route.action, &caller.sku)
            && let Some(shown) = self.shown(edition, sku, ports.now())
        {
            trace.shed.set(true);
            return Ok(shown?.into());
        }
        let challenge = issue::answer(edition, route, request)?;
        match self.admit(edition, route, request, &caller, ports, trace).await? {
            Passage::Replay(response) => Ok(response.into()),
            Passage::Admitted(admitted) => {
                let mut answer = match route.action {
                    Action::IssueToken => {
                        self.issue(edition, &caller, challenge, admitted.token_id, ports).await?.into()
                    }
                    Action::ShowSale => match &caller.sku {
                        Some(sku) => self.show(edition, sku, ports.now())?.into(),
                        None => return Err(Code::InvalidSku.into()),
                    },
                    Action::Forward => {
                        self.forward(edition, route, request, &caller, &admitted, ports, id, trace).await?
                    }
                };
                ratelimit::add(&mut answer.response, &admitted.met);
                Ok(answer)
            }
        }
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self { response, streamed: false }
    }
}

/// The body's bytes, of one that was read; one that is too large never gets this far.
fn whole(request: &Request) -> &[u8] {
    match &request.body {
        Body::Whole(bytes) => bytes,
        Body::TooLarge | Body::Streamed => &[],
    }
}

fn health(method: &str) -> Result<Response, Problem> {
    match method {
        "GET" | "HEAD" => Ok(Response::json(200, br#"{"status":"ok"}"#.to_vec())),
        _ => Err(Problem::from(Code::MethodNotAllowed).allow(&["GET"])),
    }
}
