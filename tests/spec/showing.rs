//! `GET /v1/sales/{sku}`: told from the isolate's snapshot, so that a crowd that polls costs a call a second.

use serde_json::{Value, json};
use sluice::api::response::Response;
use sluice_upstash::TransportFault;

use crate::stage::{NOW, Stage, code, order, request};

const PATH: &str = "/v1/sales/demo";

/// What Redis says to one who looks: admitted, the sale, the level of one bucket.
fn told(at: u64, sale: &str) -> String {
    format!("[0,{},\"{sale}\",\"\",50000]", NOW + at)
}

fn look(stage: &Stage) -> Response {
    stage.play(request("GET", PATH))
}

fn seen(response: &Response) -> (u16, Value) {
    (response.status, serde_json::from_slice(&response.body).unwrap())
}

#[test]
fn one_look_a_second_asks_redis_and_none_the_origin() {
    let stage = Stage::default().redis(&told(0, "1799999000000,1800003600000,0,5,1999"));
    let first = look(&stage);
    assert_eq!(stage.keys(0)[..2], ["sl1:{p0}:sale:demo", "sl1:{p0}:stock:demo"]);
    assert_eq!(stage.args(0)[8], 2, "told, and refusing nothing");
    assert!(first.get("ratelimit").is_some());
    let expected = json!({
        "sku": "demo", "state": "open", "price": 1999, "stock": "few", "starts_at": 1_799_999_000_000_u64,
        "ends_at": 1_800_003_600_000_u64, "now": NOW,
    });
    assert_eq!(seen(&first), (200, expected));
    stage.later(999);
    for _ in 0..100 {
        assert_eq!(look(&stage).status, 200);
    }
    assert_eq!(stage.commands().len(), 1);
    stage.later(1);
    let stage = stage.redis(&told(1_000, "1799999000000,1800003600000,0,0,1999"));
    let (_, later) = seen(&look(&stage));
    assert_eq!((later["state"].as_str(), later["stock"].as_str()), (Some("sold_out"), Some("none")));
    assert!(later["now"].as_u64().unwrap() >= NOW + 1_000, "{later}");
    assert!(stage.forwarded.borrow().is_empty());
}

#[test]
fn the_start_is_told_at_its_time_without_asking() {
    let stage = Stage::default().redis(&told(0, "1800000000500,1800003600000,0,500,1"));
    let (_, before) = seen(&look(&stage));
    assert_eq!((before["state"].as_str(), before["stock"].as_str()), (Some("scheduled"), Some("many")));
    stage.later(600);
    assert_eq!(seen(&look(&stage)).1["state"], "open");
    assert_eq!(stage.commands().len(), 1);
}

#[test]
fn paused_ended_and_unready_sales_say_so() {
    for (sale, state, stock) in [
        ("1799999000000,1800003600000,1,500,1", "paused", "many"),
        ("1799999000000,1799999000001,0,500,1", "ended", "none"),
        ("1799999000000,1800003600000,0,,1", "paused", "none"),
        ("1799999000000,1800003600000,0,20,1", "open", "few"),
        ("1799999000000,1800003600000,0,21,1", "open", "many"),
    ] {
        let (_, seen) = seen(&look(&Stage::default().redis(&told(0, sale))));
        assert_eq!((seen["state"].as_str(), seen["stock"].as_str()), (Some(state), Some(stock)), "{sale}");
    }
}

#[test]
fn no_such_sale_is_asked_for_once_a_second() {
    let stage = Stage::default().redis(&told(0, "-"));
    for _ in 0..3 {
        assert_eq!(code(&look(&stage)), "sale_unknown");
    }
    assert_eq!(stage.commands().len(), 1);
    stage.later(1_000);
    let stage = stage.redis(&told(1_000, "1799999000000,1800003600000,0,5,1"));
    assert_eq!(look(&stage).status, 200, "it has come");
}

#[test]
fn what_a_look_learns_sheds_orders_and_what_an_order_learns_is_shown() {
    let stage = Stage::default().redis(&told(0, "1799999000000,1800003600000,0,0,1"));
    look(&stage);
    assert_eq!(code(&stage.play(order())), "sold_out");
    assert_eq!(stage.commands().len(), 1);
    let stage = Stage::default().redis("[8,1800000000000,\"1799999000000,1800003600000,1,5,1\"]");
    stage.play(order());
    assert_eq!(seen(&look(&stage)).1["state"], "paused");
    assert_eq!(stage.commands().len(), 1);
}

#[test]
fn a_limit_that_refuses_still_brings_the_sale_to_the_others() {
    let stage = Stage::default().redis("[1,1800000000000,\"1799999000000,1800003600000,0,5,1\",2000000]");
    assert_eq!(code(&look(&stage)), "too_many_requests");
    assert_eq!(look(&stage).status, 200);
}

#[test]
fn without_redis_there_is_nothing_to_show() {
    let stage = Stage::default().redis_fails(TransportFault::Timeout);
    let refused = look(&stage);
    assert_eq!((refused.status, code(&refused).as_str(), refused.get("retry-after")), (503, "degraded", Some("2")));
    assert!(stage.forwarded.borrow().is_empty());
}

#[test]
fn a_head_is_told_like_a_get() {
    let stage = Stage::default().redis(&told(0, "1799999000000,1800003600000,0,5,1"));
    assert_eq!(stage.play(request("HEAD", PATH)).status, 200);
}

#[test]
fn an_operation_that_was_met_before_says_nothing_of_its_sale() {
    // In flight: Redis answered before it came to the sale, so that nobody may think that there is none.
    let stage = Stage::default().redis("[2,1800000000000,1800000030000]");
    assert_eq!(code(&stage.play(order())), "in_progress");
    assert_eq!(stage.keys(0)[1], "sl1:{p0}:sale:demo");
    // The look that this call was to bring is given up after the deadline.
    stage.later(500);
    let stage = stage.redis(&told(500, "1799999000000,1800003600000,0,5,1999"));
    assert_eq!(seen(&look(&stage)).1["state"], "open");
    assert_eq!(stage.commands().len(), 2);
}
