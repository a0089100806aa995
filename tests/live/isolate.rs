//! The gate over a real Redis and simulated time: isolates with clocks of their own, and a way to Redis that takes as
//! long as a test says.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use sluice::api::response::Response;
use sluice::gate::ports::{Answer, AskFault, DocumentAway, Form, Forward, OriginFault, Point, Ports, Signature};
use sluice::model::{Micros, Millis};
use sluice_upstash::{HttpReply, Transport, TransportFault};
use xtask::clock;

use crate::mode::Redis;
use crate::support::json;

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// How far Redis' clock is ahead of true time, in µs.
const REDIS_AHEAD: u64 = 1_234_567;

/// What all isolates share: time, and Redis.
pub struct World {
    redis: Rc<RefCell<Redis>>,
    /// True time, µs.
    now: Cell<u64>,
    /// How long a call is on its way there and back, µs.
    pub way: Cell<(u64, u64)>,
    /// Calls that reached Redis.
    pub calls: Cell<usize>,
    /// What the origin answers.
    origin: RefCell<Response>,
}

impl World {
    pub fn new(redis: Rc<RefCell<Redis>>) -> Self {
        let now = Cell::new(clock::unix_ms() * 1_000 + 321);
        Self { redis, now, way: Cell::default(), calls: Cell::default(), origin: Response::new(200).into() }
    }

    /// From now on the origin answers so.
    pub fn answer(&self, status: u16, headers: &[(&'static str, &str)]) {
        let mut response = Response::new(status);
        headers.iter().for_each(|(name, value)| response.header(*name, *value));
        self.origin.replace(response);
    }

    /// Time passes.
    pub fn pass(&self, us: u64) {
        self.now.set(self.now.get() + us);
    }

    /// What Redis' clock shows.
    pub fn redis_time(&self) -> Micros {
        Micros(self.now.get() + REDIS_AHEAD)
    }

    /// Runs what came over REST.
    fn post(&self, path: &str, body: &str) -> HttpReply {
        let as_told = |outcome| match outcome {
            Ok(result) => (200, serde_json::json!({ "result": result })),
            Err(error) => (400, serde_json::json!({ "error": error })),
        };
        let (status, body) = match path {
            "/pipeline" => {
                let commands: Vec<Vec<Value>> = serde_json::from_str(body).unwrap();
                (200, commands.iter().map(|words| as_told(self.run(words)).1).collect())
            }
            _ => as_told(self.run(&serde_json::from_str::<Vec<Value>>(body).unwrap())),
        };
        HttpReply { status, body: body.to_string() }
    }

    /// Runs a command, with the time of Redis in place of its clock.
    fn run(&self, words: &[Value]) -> Result<Value, String> {
        let is_script = words[0].as_str().is_some_and(|name| name.starts_with("EVAL"));
        let keys = if is_script { usize::try_from(words[2].as_u64().unwrap()).unwrap() } else { 0 };
        let word = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
        let mut words: Vec<String> = words.iter().map(word).collect();
        // The admit script alone takes that many arguments: its eighth is the time.
        let is_admit = is_script && words.len() > 3 + keys + 12;
        if is_admit {
            words[3 + keys + 7] = self.redis_time().0.to_string();
        }
        let mut command = redis::cmd(&words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(word);
        });
        let redis = &mut *self.redis.borrow_mut();
        let reply = command.query::<redis::Value>(redis).map_err(|error| match error.code() {
            Some(code) => format!("{code} {}", error.detail().unwrap_or_default()),
            None => error.to_string(),
        })?;
        // Redis would let keys expire by its own clock, which stands nearly still here.
        for key in words.iter().skip(3).take(keys) {
            redis::cmd("PERSIST").arg(key).exec(redis).unwrap();
        }
        Ok(json(&reply))
    }
}

/// One isolate: its clock, and what goes on after its answers.
#[derive(Clone)]
pub struct Isolate {
    world: Rc<World>,
    /// How far its clock is ahead of true time, in µs.
    ahead: i64,
    chance: Rc<Cell<u128>>,
    work: Rc<RefCell<Vec<Work>>>,
}

impl Isolate {
    pub fn new(world: &Rc<World>, ahead: i64) -> Self {
        let chance = Rc::new(Cell::new(u128::from(ahead.unsigned_abs()) << 64));
        Self { world: Rc::clone(world), ahead, chance, work: Rc::default() }
    }

    /// Does what was left for after the answer.
    pub fn finish(&self) {
        let work = std::mem::take(&mut *self.work.borrow_mut());
        work.into_iter().for_each(pollster::block_on);
    }
}

impl Transport for Isolate {
    async fn post(&self, path: &'static str, body: String, _: Duration) -> Result<HttpReply, TransportFault> {
        let (there, back) = self.world.way.get();
        self.world.pass(there);
        self.world.calls.set(self.world.calls.get() + 1);
        let reply = self.world.post(path, &body);
        self.world.pass(back);
        Ok(reply)
    }
}

impl Ports for Isolate {
    fn now(&self) -> Millis {
        Millis(self.world.now.get().saturating_add_signed(self.ahead) / 1_000)
    }

    fn random(&self) -> [u8; 16] {
        self.chance.set(self.chance.get() + 1);
        self.chance.get().to_be_bytes()
    }

    async fn forward(&self, _: Forward) -> Result<Answer, OriginFault> {
        Ok(self.world.origin.borrow().clone().into())
    }

    async fn verify(&self, _: Signature<'_>) -> bool {
        false
    }

    async fn ask(&self, _: &str, _: Option<Form<'_>>, _: Millis) -> Result<(u16, String), AskFault> {
        Err(AskFault::Unreachable)
    }

    async fn pause(&self, _: Millis) {}

    async fn document(&self) -> Result<Option<String>, DocumentAway> {
        Err(DocumentAway)
    }

    async fn flood(&self, _: &str) -> bool {
        true
    }

    fn measure(&self, _: &Point<'_>) {}

    fn background(&self, work: impl Future<Output = ()> + 'static) {
        self.work.borrow_mut().push(Box::pin(work));
    }

    fn log(&self, _: &str) {}
}
