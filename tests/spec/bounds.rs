//! A flood of keys that nobody has seen before: each table of an isolate forgets its oldest entries, and only those.

use sluice::gate::ports::Request;

use crate::stage::{Stage, order, request, with};

const OPEN: &str = "[identity]\nissuer = \"https://shop.example\"\naudience = \"sluice\"\nip_missing = \"shared\"\n\
     ip_missing_limit = \"no-ip\"\n[[limit]]\nname = \"no-ip\"\nkey = []\nburst = 10\nrate = \"5/s\"\n\
     [[limit]]\nname = \"ip\"\nkey = \"ip\"\nburst = 20\nrate = \"10/s\"\n\
     [[route]]\nname = \"keyed\"\nmethod = \"POST\"\npath = \"/v1/keyed\"\nuser = \"optional\"\n\
     idempotency = \"client-key\"\nlimits = []\n\
     [[route]]\nname = \"sale\"\nmethod = \"POST\"\npath = \"/v1/sales/{sku}/keyed\"\nuser = \"optional\"\n\
     idempotency = \"client-key\"\nlimits = []\n\
     [[route]]\nname = \"read\"\nmethod = \"GET\"\npath = \"/v1/sales/{sku}\"\nuser = \"optional\"\nlimits = [\"ip\"]\n";

/// The tables' bounds, as docs/operations.md tells them.
const OPERATIONS: usize = 10_000;
const OPERATIONS_BYTES: usize = 4 * 1024 * 1024;
const BUCKETS: usize = 10_000;
const SALES: usize = 1_000;

fn anonymous(method: &str, path: &str) -> Request {
    let mut request = request(method, path);
    request.headers.retain(|(name, _)| name != "authorization");
    request
}

/// Sends requests `0..count` once, with `prepare` before each that Redis is to answer, and then three of them again:
/// the last, one that the bound still holds, and the first, which it does not.
#[track_caller]
fn only_the_oldest_is_forgotten(
    count: usize,
    bound: usize,
    prepare: impl Fn(Stage) -> Stage,
    ask: impl Fn(usize) -> Request,
) {
    assert!(count > bound);
    let mut stage = Stage::default();
    for n in 0..count {
        stage = prepare(stage);
        stage.play_with(OPEN, ask(n));
        assert_eq!(stage.asked.borrow().len(), n + 1, "each is new to the isolate");
    }
    for known in [count - 1, count - bound + bound / 10] {
        stage.play_with(OPEN, ask(known));
        assert_eq!(stage.asked.borrow().len(), count, "{known} of {count} is known");
    }
    let stage = prepare(stage);
    stage.play_with(OPEN, ask(0));
    assert_eq!(stage.asked.borrow().len(), count + 1, "the oldest is not");
}

#[test]
fn r_chmonitor_2467_operations_are_bounded_in_number() {
    let answered = |stage: Stage| stage.redis("[0,1800000000000,\"\",\"\"]").origin(201, &[], "").redis("1");
    let ask = |n: usize| with(anonymous("POST", "/v1/keyed"), "idempotency-key", &format!("key-{n}"));
    let mut stage = Stage::default();
    for n in 0..OPERATIONS + 50 {
        stage = answered(stage);
        stage.play_with(OPEN, ask(n));
    }
    let calls = stage.asked.borrow().len();
    for known in [OPERATIONS + 49, 1_000] {
        assert_eq!(stage.play_with(OPEN, ask(known)).get("idempotency-replayed"), Some("true"), "{known}");
    }
    assert_eq!(stage.asked.borrow().len(), calls);
    let stage = stage.redis("[3,1800000000000,\"201\\n\\nt\"]");
    stage.play_with(OPEN, ask(0));
    assert_eq!(stage.asked.borrow().len(), calls + 1, "the oldest is asked for again");
}

#[test]
fn operations_are_bounded_in_bytes() {
    let body = "x".repeat(30_000);
    let hold = OPERATIONS_BYTES / body.len();
    let ask = |n: usize| with(anonymous("POST", "/v1/keyed"), "idempotency-key", &format!("key-{n}"));
    let mut stage = Stage::default();
    for n in 0..hold + 50 {
        stage = stage.redis("[0,1800000000000,\"\",\"\"]").origin(201, &[], &body).redis("1");
        stage.play_with(OPEN, ask(n));
    }
    let calls = stage.asked.borrow().len();
    for known in [hold + 49, 60] {
        assert_eq!(stage.play_with(OPEN, ask(known)).body.len(), body.len(), "{known}");
    }
    assert_eq!(stage.asked.borrow().len(), calls);
    let stage = stage.redis("[5,1800000000000]");
    stage.play_with(OPEN, ask(0));
    assert_eq!(stage.asked.borrow().len(), calls + 1, "the oldest is asked for again");
}

#[test]
fn buckets_that_refused_are_bounded_in_number() {
    let ask = |n: usize| with(anonymous("GET", "/v1/sales/demo"), "cf-connecting-ip", &format!("2001:db8:{n:x}::1"));
    let refused = |stage: Stage| stage.redis("[1,1800000000000,\"\",2000000]");
    only_the_oldest_is_forgotten(BUCKETS + 50, BUCKETS, refused, ask);
}

#[test]
fn sales_are_bounded_in_number() {
    let keyed = |n: usize| with(anonymous("POST", &format!("/v1/sales/s{n}/keyed")), "idempotency-key", &n.to_string());
    let sold_out = |stage: Stage| stage.redis("[8,1800000000000,\"1799999000000,1800003600000,0,0,9\"]");
    only_the_oldest_is_forgotten(SALES + 50, SALES, sold_out, keyed);
}

#[test]
fn sales_that_nobody_knows_are_bounded_in_number() {
    let problem = [("content-type", "application/problem+json")];
    let unknown =
        |stage: Stage| stage.redis("[0,1800000000000,\"\",\"\",0]").origin(404, &problem, r#"{"code":"sale_unknown"}"#);
    let ask = |n: usize| anonymous("GET", &format!("/v1/sales/s{n}"));
    only_the_oldest_is_forgotten(SALES + 50, SALES, unknown, ask);
}

#[test]
fn forged_requests_reach_no_table_at_all() {
    let stage = Stage::default();
    for n in 0..2_000 {
        let forged = with(order(), "sluice-order-token", &format!("forged-{n}"));
        assert_eq!(stage.play(forged).status, 403);
    }
    assert!(stage.is_untouched());
}
