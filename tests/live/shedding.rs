//! What isolates refuse from memory, Redis would have refused at that very instant: on random histories of several
//! isolates with clocks of their own, over a real Redis whose time the test sets.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sluice::admit::{Charge, Verdict};
use sluice::api::response::Response;
use sluice::config;
use sluice::digest::Tag;
use sluice::gate::edition::Document;
use sluice::gate::live::Deployment;
use sluice::gate::ports::{Answer, Body, Request};
use sluice::gate::{Gate, Secrets};
use sluice::model::{Cost, Micros, Millis, Partition, Quota};
use sluice::script::admit::Call;
use sluice::script::keys::Keyspace;

use crate::isolate::{Isolate, World};
use crate::mode::Redis;
use crate::support::{admit, connect, redis_only};

const USERS: &str = "the-secret-of-user-tokens-0000000";
const SECRETS: Secrets<'static> = Secrets {
    users: USERS,
    tokens: "the-secret-of-order-tokens-000000",
    assertions: "the-secret-of-assertions-00000000",
    challenge: "",
    admin: "",
};
const ISOLATES: usize = 3;

/// Entries live for long, so that nothing but the buckets' own time ends a denial.
const GATE: &str = r#"
[shed]
snapshot_ms = 10000
[identity]
issuer = "https://shop.example"
audience = "sluice"
[[limit]]
name = "user"
key = "user"
burst = 6
rate = "1/300ms"
cost = "quantity"
[[limit]]
name = "ip"
key = "ip"
burst = 9
rate = "1/250ms"
[[route]]
name = "estimate"
method = "POST"
path = "/v1/estimate"
body = "order"
limits = ["user", "ip"]
[[route]]
name = "order"
method = "POST"
path = "/v1/orders"
body = "order"
idempotency = "client-key"
limits = ["user", "ip"]
"#;

#[derive(Clone, Debug)]
struct Step {
    /// µs since the last one.
    passed: u64,
    isolate: usize,
    user: u8,
    ip: u8,
    quantity: u32,
    /// Whether it is an operation, under a new key.
    operation: bool,
    /// µs to Redis and back.
    way: (u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let passed = prop_oneof![3 => Just(0u64), 6 => 0u64..60_000, 2 => 0u64..1_500_000];
    let way = (0u64..40_000, 0u64..40_000);
    (passed, 0..ISOLATES, 0u8..2, 0u8..2, 1u32..4, any::<bool>(), way).prop_map(
        |(passed, isolate, user, ip, quantity, operation, way)| Step {
            passed,
            isolate,
            user,
            ip,
            quantity,
            operation,
            way,
        },
    )
}

fn request(step: &Step, key: usize) -> Request {
    let jwt = xtask::user::jwt(USERS, &format!("user-{}", step.user), Duration::from_secs(3600)).unwrap();
    let path = if step.operation { "/v1/orders" } else { "/v1/estimate" };
    let headers = [
        ("authorization", format!("Bearer {jwt}")),
        ("cf-connecting-ip", format!("10.0.0.{}", step.ip)),
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", key.to_string()),
    ];
    Request {
        method: "POST".into(),
        path: path.into(),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        body: Body::Whole(json!({ "quantity": step.quantity }).to_string().into_bytes()),
        ..Request::default()
    }
}

/// The buckets of a step, as Redis is asked about them.
fn buckets(prefix: &str, step: &Step) -> Vec<(String, Charge)> {
    let keys = Keyspace::new(prefix, 1);
    let subject = |kind: &str, text: String| Tag::of(&[kind.as_bytes(), text.as_bytes()]);
    let quota = |burst, rate| Quota::parse(burst, rate).unwrap();
    vec![
        (
            keys.bucket(Partition(0), "user", &subject("user", format!("user-{}", step.user))),
            Charge { quota: quota(6, "1/300ms"), cost: Cost(step.quantity) },
        ),
        (
            keys.bucket(Partition(0), "ip", &subject("ip", format!("10.0.0.{}", step.ip))),
            Charge { quota: quota(9, "1/250ms"), cost: Cost(1) },
        ),
    ]
}

fn gate(text: &str, isolate: &Isolate) -> Rc<Gate<Isolate>> {
    let document = Document::read(&config::Gate::to_json(text).unwrap()).unwrap();
    Rc::new(Gate::new(document, Deployment::default(), SECRETS, isolate.clone()).unwrap())
}

/// How long a shed refusal told to wait, and how long Redis would have.
struct Wait {
    told: Millis,
    needed: Micros,
}

/// How little an isolate may know about Redis' clock: a way there and back of 80 ms, either way, and rounding.
const UNSURE: u64 = 165;

/// What came of one history.
#[derive(Default)]
struct Counts {
    shed: Cell<usize>,
    refused: Cell<usize>,
    admitted: Cell<usize>,
}

fn more(count: &Cell<usize>) {
    count.set(count.get() + 1);
}

fn play(
    redis: &Rc<RefCell<Redis>>,
    prefix: &str,
    history: &[Step],
    alone: bool,
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let world = Rc::new(World::new(Rc::clone(redis)));
    let text = format!("prefix = \"{prefix}\"\n{GATE}");
    let isolates: Vec<(Isolate, Rc<Gate<Isolate>>)> = [0, 3_456_789, -2_000_321][..ISOLATES]
        .iter()
        .map(|ahead| {
            let isolate = Isolate::new(&world, *ahead);
            let gate = gate(&text, &isolate);
            (isolate, gate)
        })
        .collect();
    for (n, step) in history.iter().enumerate() {
        world.pass(step.passed);
        world.way.set(step.way);
        let (isolate, gate) = &isolates[step.isolate];
        let (calls, at) = (world.calls.get(), world.redis_time());
        let Answer { response, .. } = pollster::block_on(gate.handle(request(step, n), isolate.clone()));
        isolate.finish();
        match (response.status, world.calls.get() - calls) {
            (200, asked) => {
                prop_assert!(asked >= 1, "nothing passes unasked");
                more(&counts.admitted);
            }
            (429, 0) => {
                more(&counts.shed);
                let wait = is_what_redis_says(redis, prefix, step, at, &response)?;
                // Where another isolate, or a smaller cost, may have been charged meanwhile, it can be too short.
                let knows = !alone || wait.told.micros() >= wait.needed;
                prop_assert!(knows, "told to wait {:?}, and {:?} is needed", wait.told, wait.needed);
            }
            (429, _) => more(&counts.refused),
            other => prop_assert!(false, "{other:?}: {}", String::from_utf8_lossy(&response.body)),
        }
    }
    Ok(())
}

/// Redis, asked at the instant of a shed refusal, refuses too; and nobody is kept out for longer than by Redis.
fn is_what_redis_says(
    redis: &Rc<RefCell<Redis>>,
    prefix: &str,
    step: &Step,
    at: Micros,
    shed: &Response,
) -> Result<Wait, TestCaseError> {
    let buckets = buckets(prefix, step);
    let charges: Vec<Charge> = buckets.iter().map(|(_, charge)| *charge).collect();
    let verdict = admit(&mut redis.borrow_mut(), &Call { buckets, now: at, ..Call::default() });
    let Verdict::Limited { levels } = verdict else {
        return Err(TestCaseError::fail(format!("{step:?} was shed, and Redis says {verdict:?}")));
    };
    let wait = charges.iter().zip(&levels).filter_map(|(charge, level)| charge.wait(*level)).max().unwrap();
    let body: Value = serde_json::from_slice(&shed.body).unwrap();
    let told = Millis(body["retry_after_ms"].as_u64().unwrap());
    prop_assert!(told.0 <= wait.0 / 1_000 + UNSURE, "told to wait {told:?}, and {wait:?} is enough");
    prop_assert_eq!(body["outcome_known"].as_bool(), step.operation.then_some(false));
    Ok(Wait { told, needed: wait })
}

/// Plays random histories, each changed by `only` first.
async fn play_all(alone: bool, only: impl Fn(Step) -> Step) {
    let stack = redis_only().await;
    let redis = Rc::new(RefCell::new(connect(&stack)));
    let (case, counts) = (Cell::new(0), Counts::default());
    let config = Config { cases: 80, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(step(), 60..120), |history| {
        more(&case);
        let history: Vec<Step> = history.into_iter().map(&only).collect();
        play(&redis, &format!("case-{}", case.get()), &history, alone, &counts)
    });
    outcome.unwrap();
    let (shed, refused, admitted) = (counts.shed.get(), counts.refused.get(), counts.admitted.get());
    assert!(shed > 200 && refused > 200 && admitted > 500, "{shed} shed, {refused} refused, {admitted} admitted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shed_refusal_is_what_redis_would_have_answered_at_that_instant() {
    play_all(false, |step| step).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_fastify_rate_limit_pr325_who_waits_as_long_as_a_shed_refusal_told_has_waited_long_enough() {
    play_all(true, |step| Step { isolate: 0, user: 0, ip: 0, quantity: 1, ..step }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_an_operator_empties_is_seen_within_the_time_that_memory_lives() {
    let stack = redis_only().await;
    let redis = Rc::new(RefCell::new(connect(&stack)));
    let world = Rc::new(World::new(Rc::clone(&redis)));
    let isolate = Isolate::new(&world, 0);
    // A unit an hour: by itself the bucket would be empty for long.
    let text = GATE.replace("1/300ms", "1/1h").replace("snapshot_ms = 10000", "snapshot_ms = 1000");
    let gate = gate(&text, &isolate);
    let step = Step { passed: 0, isolate: 0, user: 0, ip: 0, quantity: 3, operation: false, way: (0, 0) };
    let status = || pollster::block_on(gate.handle(request(&step, 0), isolate.clone())).response.status;
    assert_eq!([status(), status(), status()], [200, 200, 429]);
    let user = buckets("sl1", &step).remove(0).0;
    redis::cmd("DEL").arg(user).exec(&mut *redis.borrow_mut()).unwrap();
    assert_eq!(status(), 429, "from memory");
    world.pass(1_000_000);
    assert_eq!(status(), 200);
}
