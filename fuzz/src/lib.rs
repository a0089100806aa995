//! A world for the gate in which Redis and the origin answer whatever the fuzzer makes up.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use sluice::api::response::Response;
use sluice::config;
use sluice::gate::edition::Document;
use sluice::gate::live::Deployment;
use sluice::gate::ports::{
    Answer, AskFault, DocumentAway, Form, Forward, OriginFault, Point, Ports, Request, Signature,
};
use sluice::gate::{Gate, Secrets};
use sluice::model::Millis;
use sluice_upstash::{HttpReply, Transport, TransportFault};

/// Milliseconds since the epoch at which every run begins.
pub const NOW: u64 = 1_800_000_000_000;
/// Signs user JWTs.
pub const USERS: &str = "the-secret-of-user-tokens-0000000";
/// Signs order tokens.
pub const TOKENS: &str = "the-secret-of-order-tokens-000000";
const ASSERTIONS: &str = "the-secret-of-assertions-00000000";
const ADMIN: &str = "the-token-of-operators-0000000000";

thread_local! {
    static DOCUMENT: Document = {
        let json = config::Gate::to_json(include_str!("../../gate.toml")).expect("gate.toml is sound");
        Document::read(&json).expect("what was sound still is")
    };
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// What Redis and the origin will answer, and what was asked of them.
#[derive(Default)]
pub struct World {
    redis: RefCell<VecDeque<HttpReply>>,
    origin: RefCell<VecDeque<Response>>,
    chance: Cell<u128>,
    work: RefCell<Vec<Work>>,
    /// How often Redis was asked.
    pub asked: Cell<usize>,
    /// What reached the origin.
    pub forwarded: RefCell<Vec<Forward>>,
    /// Lines of the log.
    pub logged: RefCell<Vec<String>>,
}

/// A [`World`] that the gate can hold.
#[derive(Clone, Default)]
pub struct Stage(pub Rc<World>);

impl Transport for Stage {
    async fn post(&self, _: &'static str, _: String, _: Duration) -> Result<HttpReply, TransportFault> {
        self.0.asked.set(self.0.asked.get() + 1);
        self.0.redis.borrow_mut().pop_front().ok_or(TransportFault::Timeout)
    }
}

impl Ports for Stage {
    fn now(&self) -> Millis {
        Millis(NOW)
    }

    fn random(&self) -> [u8; 16] {
        self.0.chance.set(self.0.chance.get() + 1);
        self.0.chance.get().to_be_bytes()
    }

    async fn forward(&self, request: Forward) -> Result<Answer, OriginFault> {
        self.0.forwarded.borrow_mut().push(request);
        let response = self.0.origin.borrow_mut().pop_front().ok_or(OriginFault::Unreachable)?;
        Ok(Answer { response, streamed: false })
    }

    async fn verify(&self, _: Signature<'_>) -> bool {
        false
    }

    async fn ask(&self, _: &str, _: Option<Form<'_>>, _: Millis) -> Result<(u16, String), AskFault> {
        Err(AskFault::Unreachable)
    }

    async fn pause(&self, _: Millis) {}

    async fn document(&self) -> Result<Option<String>, DocumentAway> {
        Ok(None)
    }

    async fn flood(&self, _: &str) -> bool {
        true
    }

    fn measure(&self, _: &Point<'_>) {}

    fn background(&self, work: impl Future<Output = ()> + 'static) {
        self.0.work.borrow_mut().push(Box::pin(work));
    }

    fn log(&self, line: &str) {
        self.0.logged.borrow_mut().push(line.to_owned());
    }
}

impl Stage {
    /// Redis' next answer.
    pub fn redis(&self, status: u16, body: String) {
        self.0.redis.borrow_mut().push_back(HttpReply { status, body });
    }

    /// The origin's next answer.
    pub fn origin(&self, response: Response) {
        self.0.origin.borrow_mut().push_back(response);
    }

    /// Plays one request to its end on a fresh isolate, with the work that goes on after the answer.
    pub fn play(&self, request: Request) -> Response {
        let document = DOCUMENT.with(Clone::clone);
        let secrets = Secrets { users: USERS, tokens: TOKENS, assertions: ASSERTIONS, challenge: "", admin: ADMIN };
        let gate = Rc::new(
            Gate::new(document, Deployment::default(), secrets, self.clone())
                .unwrap_or_else(|_| panic!("sound secrets")),
        );
        let answer = pollster::block_on(gate.handle(request, self.clone()));
        let work = std::mem::take(&mut *self.0.work.borrow_mut());
        work.into_iter().for_each(pollster::block_on);
        answer.response
    }
}

/// A JWT over any two texts, with a true signature.
pub fn signed(header: &str, claims: &str) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use hmac::{Hmac, KeyInit as _, Mac as _};

    let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(USERS.as_bytes()).expect("any key length will do");
    mac.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// The JWT of user 42.
pub fn user_jwt() -> String {
    let claims = format!(r#"{{"iss":"https://shop.example","aud":"sluice","sub":"42","exp":{}}}"#, NOW / 1000 + 3600);
    signed(r#"{"alg":"HS256","typ":"JWT"}"#, &claims)
}
