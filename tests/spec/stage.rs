//! A stage for the gate: Redis, the origin, the clock and chance as a test wants them, and a record of what was asked.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use sluice::api::response::Response;
use sluice::config;
use sluice::gate::edition::Document;
use sluice::gate::live::Deployment;
use sluice::gate::ports::{
    Answer, AskFault, Body, DocumentAway, Form, Forward, OriginFault, Point, Ports, Request, Signature,
};
use sluice::gate::{Gate, Secrets};
use sluice::identity::jwt::{self, UserClaims};
use sluice::model::{Millis, Sku, User};
use sluice::token::OrderTokens;
use sluice_upstash::{HttpReply, Transport, TransportFault};

use crate::signer;

pub(crate) const NOW: u64 = 1_800_000_000_000;
pub(crate) const USERS: &str = "the-secret-of-user-tokens-0000000";
pub(crate) const TOKENS: &str = "the-secret-of-order-tokens-000000";
pub(crate) const ASSERTIONS: &str = "the-secret-of-assertions-00000000";

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// What one test's world does and has seen.
#[derive(Default)]
pub(crate) struct World {
    redis: RefCell<VecDeque<Result<HttpReply, TransportFault>>>,
    origin: RefCell<VecDeque<Option<Result<Answer, OriginFault>>>>,
    gate: OnceCell<Rc<Gate<Stage>>>,
    passed: Cell<u64>,
    chance: Cell<u128>,
    work: RefCell<Vec<Work>>,
    services: RefCell<VecDeque<Result<(u16, String), AskFault>>>,
    /// Addresses that were asked, each with the fields of its form.
    pub(crate) inquiries: RefCell<Vec<(String, Vec<String>)>>,
    /// What the place for a replacement of the configuration holds; none when there is no such place.
    document: RefCell<Option<Result<Option<String>, DocumentAway>>>,
    /// The operators' tokens.
    pub(crate) admin: RefCell<String>,
    /// How often it was looked at.
    pub(crate) looks: Cell<usize>,
    /// Whether the platform's own limit refuses.
    pub(crate) flooded: Cell<bool>,
    flood_bound: Cell<bool>,
    delays: RefCell<VecDeque<u64>>,
    /// Whom the platform's own limit was asked about.
    pub(crate) counted: RefCell<Vec<String>>,
    /// Commands that reached Redis, as JSON arrays.
    pub(crate) asked: RefCell<Vec<Value>>,
    /// Commands that travelled with a script.
    pub(crate) also: RefCell<Vec<Value>>,
    /// What was measured, where `measures` is set.
    pub(crate) measured: RefCell<Vec<String>>,
    pub(crate) measures: Cell<bool>,
    /// Requests that reached the origin.
    pub(crate) forwarded: RefCell<Vec<Forward>>,
    /// Lines of the log.
    pub(crate) logged: RefCell<Vec<String>>,
}

#[derive(Clone, Default)]
pub(crate) struct Stage(Rc<World>);

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stage")
    }
}

impl std::ops::Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl Transport for Stage {
    async fn post(&self, _: &'static str, body: String, timeout: Duration) -> Result<HttpReply, TransportFault> {
        let mut asked: Value = serde_json::from_str(&body).unwrap();
        let mut also = Vec::new();
        if asked[0][0] == "EVALSHA" {
            also = asked.as_array_mut().unwrap().split_off(1);
            asked = asked[0].take();
        }
        self.asked.borrow_mut().push(asked);
        let timeout = u64::try_from(timeout.as_millis()).unwrap();
        if let Some(takes) = self.delays.borrow_mut().pop_front() {
            self.later(takes.min(timeout));
            if takes >= timeout {
                self.redis.borrow_mut().pop_front();
                return Err(TransportFault::Timeout);
            }
        }
        let mut reply = self.redis.borrow_mut().pop_front().expect("a call to Redis that the test did not foresee");
        // A test says what the script replies; what travels with it is answered here.
        if let Ok(reply) = &mut reply
            && reply.status == 200
            && !also.is_empty()
        {
            let ones = r#",{"result":1}"#.repeat(also.len());
            reply.body = format!("[{}{ones}]", reply.body);
        }
        self.also.borrow_mut().extend(also);
        reply
    }
}

impl Ports for Stage {
    fn now(&self) -> Millis {
        Millis(NOW + self.passed.get())
    }

    fn random(&self) -> [u8; 16] {
        self.chance.set(self.chance.get() + 1);
        self.chance.get().to_be_bytes()
    }

    async fn forward(&self, request: Forward) -> Result<Answer, OriginFault> {
        self.forwarded.borrow_mut().push(request);
        let answer = self.origin.borrow_mut().pop_front().expect("a call to the origin that the test did not foresee");
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    async fn verify(&self, signature: Signature<'_>) -> bool {
        signer::verify(signature)
    }

    async fn ask(&self, url: &str, form: Option<Form<'_>>, _: Millis) -> Result<(u16, String), AskFault> {
        let form = form.unwrap_or_default().iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.inquiries.borrow_mut().push((url.to_owned(), form));
        self.services.borrow_mut().pop_front().expect("a question to a service that the test did not foresee")
    }

    async fn pause(&self, length: Millis) {
        self.later(length.0);
    }

    async fn document(&self) -> Result<Option<String>, DocumentAway> {
        self.looks.set(self.looks.get() + 1);
        self.document.borrow().clone().unwrap_or(Err(DocumentAway))
    }

    async fn flood(&self, key: &str) -> bool {
        self.counted.borrow_mut().push(key.to_owned());
        !self.flooded.get()
    }

    fn measure(&self, point: &Point<'_>) {
        let Point { route, verdict, sku, took, redis, origin } = point;
        self.measured.borrow_mut().push(format!("{route} {verdict} {sku} {took:?} {redis:?} {origin:?}"));
    }

    fn background(&self, work: impl Future<Output = ()> + 'static) {
        self.work.borrow_mut().push(Box::pin(work));
    }

    fn log(&self, line: &str) {
        self.logged.borrow_mut().push(line.to_owned());
    }
}

impl Stage {
    /// Redis answers this to its next call.
    pub(crate) fn redis(self, result: &str) -> Self {
        self.redis_says(200, &format!(r#"{{"result":{result}}}"#))
    }

    /// Redis, or what stands before it, answers this to its next call.
    pub(crate) fn redis_says(self, status: u16, body: &str) -> Self {
        self.redis.borrow_mut().push_back(Ok(HttpReply { status, body: body.to_owned() }));
        self
    }

    /// The next call to Redis brings no answer.
    pub(crate) fn redis_fails(self, fault: TransportFault) -> Self {
        self.redis.borrow_mut().push_back(Err(fault));
        self
    }

    /// The origin answers so.
    pub(crate) fn origin(self, status: u16, headers: &[(&'static str, &str)], body: &str) -> Self {
        let mut response = Response::new(status);
        for (name, value) in headers {
            response.header(*name, *value);
        }
        response.body = body.as_bytes().to_vec();
        self.origin.borrow_mut().push_back(Some(Ok(Answer { response, streamed: false })));
        self
    }

    /// The origin does not answer.
    pub(crate) fn origin_fails(self, fault: OriginFault) -> Self {
        self.origin.borrow_mut().push_back(Some(Err(fault)));
        self
    }

    /// The place for a replacement of the configuration holds this; before the first request.
    pub(crate) fn kv(self, found: Result<Option<&str>, DocumentAway>) -> Self {
        self.document.replace(Some(found.map(|text| text.map(str::to_owned))));
        self
    }

    /// The same, later.
    pub(crate) fn kv_changes(&self, found: Result<Option<&str>, DocumentAway>) {
        self.document.replace(Some(found.map(|text| text.map(str::to_owned))));
    }

    /// The origin never comes back to the next request.
    pub(crate) fn origin_hangs(self) -> Self {
        self.origin.borrow_mut().push_back(None);
        self
    }

    /// The service that is asked next answers so.
    pub(crate) fn service(self, status: u16, body: &str) -> Self {
        self.services.borrow_mut().push_back(Ok((status, body.to_owned())));
        self
    }

    /// The service that is asked next does not answer.
    pub(crate) fn service_fails(self, fault: AskFault) -> Self {
        self.services.borrow_mut().push_back(Err(fault));
        self
    }

    /// What the `n`th call to Redis passed to its script, after the keys.
    pub(crate) fn args(&self, n: usize) -> Vec<Value> {
        let asked = self.asked.borrow()[n].clone();
        let asked = asked.as_array().unwrap();
        let keys = usize::try_from(asked[2].as_u64().unwrap()).unwrap();
        asked[3 + keys..].to_vec()
    }

    /// The keys that the `n`th call to Redis passed to its script.
    pub(crate) fn keys(&self, n: usize) -> Vec<String> {
        let asked = self.asked.borrow()[n].clone();
        let asked = asked.as_array().unwrap();
        let keys = usize::try_from(asked[2].as_u64().unwrap()).unwrap();
        asked[3..3 + keys].iter().map(|key| key.as_str().unwrap().to_owned()).collect()
    }

    /// How long the next calls to Redis take, one after another; each ends when its caller gives up.
    pub(crate) fn slow(self, delays_ms: &[u64]) -> Self {
        self.delays.borrow_mut().extend(delays_ms);
        self
    }

    /// What is drawn at random goes on from here.
    pub(crate) fn draw(&self, chance: u128) {
        self.chance.set(chance);
    }

    /// The platform's own limit is bound.
    pub(crate) fn with_flood(self) -> Self {
        self.flood_bound.set(true);
        self
    }

    /// How the isolate takes in the body of such a request.
    pub(crate) fn reads_with(&self, gate_toml: &str, method: &str, path: &str) -> Option<usize> {
        self.gate(gate_toml).reads(method, path)
    }

    /// What the isolate's clock shows.
    pub(crate) fn time(&self) -> u64 {
        NOW + self.passed.get()
    }

    /// Time passes.
    pub(crate) fn later(&self, ms: u64) {
        self.passed.set(self.passed.get() + ms);
    }

    /// Plays one request to its end, with the work that goes on after the answer. All requests of a stage meet the
    /// same isolate.
    pub(crate) fn play(&self, request: Request) -> Response {
        self.play_with(include_str!("../../gate.toml"), request)
    }

    /// The same under another configuration, which counts when it is the stage's first request.
    pub(crate) fn play_with(&self, gate_toml: &str, request: Request) -> Response {
        let answer = pollster::block_on(self.gate(gate_toml).handle(request, self.clone()));
        let work = std::mem::take(&mut *self.work.borrow_mut());
        work.into_iter().for_each(pollster::block_on);
        answer.response
    }

    /// The stage's isolate, started with its first request.
    fn gate(&self, gate_toml: &str) -> &Rc<Gate<Self>> {
        self.gate.get_or_init(|| {
            let document = Document::read(&config::Gate::to_json(gate_toml).unwrap()).unwrap();
            let (live, flood) = (self.document.borrow().is_some(), self.flood_bound.get());
            let deployment = Deployment { live, flood, measures: self.measures.get(), ..Deployment::default() };
            let (admin, challenge) = (&*self.admin.borrow(), "the-shops-secret");
            let secrets = Secrets { users: USERS, tokens: TOKENS, assertions: ASSERTIONS, challenge, admin };
            Rc::new(Gate::new(document, deployment, secrets, self.clone()).unwrap())
        })
    }

    /// Plays a request until it waits for something, and leaves it there, as a client that went away.
    pub(crate) fn abandon_with(&self, gate_toml: &str, request: Request) {
        let gate = self.gate(gate_toml);
        let answer = gate.handle(request, self.clone()).now_or_never();
        assert!(answer.is_none(), "it was answered: {answer:?}");
    }

    /// Names of the scripts' commands that reached Redis, in order.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.asked.borrow().iter().map(|command| command[0].as_str().unwrap().to_owned()).collect()
    }

    /// Lines of the log about faults.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.logged.borrow().iter().filter(|line| !line.contains("\"decision\"")).cloned().collect()
    }

    /// Lines of the log about decisions.
    pub(crate) fn decisions(&self) -> Vec<Value> {
        let lines = self.logged.borrow().iter().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
        lines.into_iter().filter(|line| line["event"] == "decision").collect()
    }

    /// Whether neither Redis nor the origin was asked.
    pub(crate) fn is_untouched(&self) -> bool {
        self.asked.borrow().is_empty() && self.forwarded.borrow().is_empty()
    }
}

/// A JWT of the shop for `user`.
pub(crate) fn user_jwt(user: &str) -> String {
    let claims = UserClaims {
        iss: "https://shop.example".into(),
        aud: "sluice".into(),
        sub: user.into(),
        exp: NOW / 1000 + 3600,
    };
    jwt::sign(USERS, &claims).unwrap()
}

/// An order token of the gate, made from `id`.
pub(crate) fn order_token(id: u8, user: &str, sku: &str) -> String {
    let (user, sku) = (User::parse(user).unwrap(), Sku::parse(sku).unwrap());
    OrderTokens::new(TOKENS).unwrap().issue([id; 16], &user, &sku, Millis(NOW + 600_000))
}

/// A request of user 42 from one address.
pub(crate) fn request(method: &str, path: &str) -> Request {
    let mut request = Request { method: method.into(), path: path.into(), ..Request::default() };
    for (name, value) in
        [("authorization", format!("Bearer {}", user_jwt("42"))), ("cf-connecting-ip", "1.2.3.4".into())]
    {
        request.headers.push((name.into(), value));
    }
    request
}

/// An order of user 42 in sale `demo`.
pub(crate) fn order() -> Request {
    let mut request = with(request("POST", "/v1/sales/demo/orders"), "content-type", "application/json");
    request.body = Body::Whole(br#"{"quantity":1}"#.to_vec());
    with(request, "sluice-order-token", &order_token(1, "42", "demo"))
}

/// An order of another user, so of another operation, from another address.
pub(crate) fn order_of(user: &str) -> Request {
    let request = with(order(), "authorization", &format!("Bearer {}", user_jwt(user)));
    let request = with(request, "cf-connecting-ip", &format!("10.0.0.{user}"));
    with(request, "sluice-order-token", &order_token(1, user, "demo"))
}

/// The same request with that header set to that value.
pub(crate) fn with(mut request: Request, name: &str, value: &str) -> Request {
    request.headers.retain(|(n, _)| n != name);
    request.headers.push((name.into(), value.into()));
    request
}

/// The problem's code.
pub(crate) fn code(response: &Response) -> String {
    assert_eq!(response.get("content-type"), Some("application/problem+json"), "{response:?}");
    let body: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(body["status"], response.status);
    body["code"].as_str().unwrap().to_owned()
}
