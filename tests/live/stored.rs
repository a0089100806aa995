//! Stored order tokens over a real Redis: one order each, wherever it is sent, and none lost by a refusal that passes.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use sluice::api::response::Response;
use sluice::config;
use sluice::gate::edition::Document;
use sluice::gate::live::Deployment;
use sluice::gate::ports::{Body, Request};
use sluice::gate::{Gate, Secrets};

use crate::isolate::{Isolate, World};
use crate::mode::Redis;
use crate::support::{connect, redis_only, ttls};

const USERS: &str = "the-secret-of-user-tokens-0000000";

struct Place {
    redis: Rc<RefCell<Redis>>,
    isolate: Isolate,
    gate: Rc<Gate<Isolate>>,
}

impl Place {
    /// An isolate that knows nothing of what others have seen.
    fn new(redis: &Rc<RefCell<Redis>>, world: &Rc<World>, chance: i64) -> Self {
        let text = include_str!("../../gate.toml").replace("lifetime_s = 600", "kind = \"stored\"");
        let secrets = Secrets {
            users: USERS,
            tokens: "the-secret-of-order-tokens-000000",
            assertions: "the-secret-of-assertions-00000000",
            challenge: "",
            admin: "",
        };
        let isolate = Isolate::new(world, chance);
        let document = Document::read(&config::Gate::to_json(&text).unwrap()).unwrap();
        let gate = Rc::new(Gate::new(document, Deployment::default(), secrets, isolate.clone()).unwrap());
        Self { redis: Rc::clone(redis), isolate, gate }
    }

    fn send(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let jwt = xtask::user::jwt(USERS, "42", Duration::from_secs(3600)).unwrap();
        let jwt = format!("Bearer {jwt}");
        let all = [("authorization", jwt.as_str()), ("cf-connecting-ip", "10.0.0.1")];
        let headers = all.iter().chain(headers).map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let request = Request {
            method: "POST".into(),
            path: path.into(),
            headers,
            body: Body::Whole(body.to_vec()),
            ..Request::default()
        };
        let answer = pollster::block_on(self.gate.handle(request, self.isolate.clone()));
        self.isolate.finish();
        answer.response
    }

    fn issue(&self) -> String {
        let response = self.send("/v1/sales/demo/token", &[], b"");
        let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        body["token"].as_str().unwrap().to_owned()
    }

    fn order(&self, token: &str) -> (u16, String) {
        let headers = [("sluice-order-token", token), ("content-type", "application/json")];
        let response = self.send("/v1/sales/demo/orders", &headers, br#"{"quantity":1}"#);
        let code = serde_json::from_slice::<serde_json::Value>(&response.body).ok();
        (response.status, code.and_then(|body| body["code"].as_str().map(str::to_owned)).unwrap_or_default())
    }

    /// Kinds of the keys that Redis holds, without the buckets.
    fn kinds(&self) -> Vec<String> {
        let keys = ttls(&mut self.redis.borrow_mut());
        let kinds = keys.iter().map(|(key, _)| key.split(':').nth(2).unwrap().to_owned());
        let mut kinds: Vec<String> = kinds.filter(|kind| kind != "b").collect();
        kinds.sort();
        kinds
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_token_is_good_for_one_order_even_when_its_claim_is_gone() {
    let stack = redis_only().await;
    let redis = Rc::new(RefCell::new(connect(&stack)));
    let world = Rc::new(World::new(Rc::clone(&redis)));
    let (here, there) = (Place::new(&redis, &world, 0), Place::new(&redis, &world, 5));
    let token = here.issue();
    assert_eq!(here.kinds(), ["token"]);
    assert_eq!(there.order(&token).0, 200, "sent to another isolate");
    assert_eq!(here.kinds(), ["claim"], "consumed");
    assert_eq!(here.order(&token).0, 200, "replayed");
    let claim: Vec<String> = redis::cmd("KEYS").arg("*:claim:*").query(&mut *redis.borrow_mut()).unwrap();
    redis::cmd("DEL").arg(claim).exec(&mut *redis.borrow_mut()).unwrap();
    world.pass(2_000_000);
    assert_eq!(here.order(&token), (409, "token_used".to_owned()));
    assert_eq!(here.order(&here.issue()).0, 200, "a new token is a new right");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_passes_costs_no_stored_token() {
    let stack = redis_only().await;
    let redis = Rc::new(RefCell::new(connect(&stack)));
    let world = Rc::new(World::new(Rc::clone(&redis)));
    let place = Place::new(&redis, &world, 0);
    let token = place.issue();
    world.answer(409, &[("sluice-outcome", "passing")]);
    assert_eq!(place.order(&token).0, 409);
    assert_eq!(place.kinds(), ["claim"], "released, in place of the token");
    world.answer(202, &[("sluice-outcome", "final")]);
    assert_eq!(place.order(&token).0, 202);
}
