//! Bodies that are sent on as they come: which, how far, and what the origin is told of them.

use sluice::assertion::Assertions;
use sluice::gate::ports::{Body, OriginFault, Request};
use sluice::model::Millis;

use crate::stage::{ASSERTIONS, NOW, Stage, code, order, request, with};

const READ: &str = "[0,1800000000100,\"\",\"\",500000]";

fn toml() -> String {
    let upload =
        "name = \"upload\"\nmethod = \"POST\"\npath = \"/v1/reviews\"\nuser = \"required\"\nlimits = [\"read\"]";
    let derived =
        "name = \"hook\"\nmethod = \"POST\"\npath = \"/v1/hook\"\nuser = \"optional\"\nidempotency = \"derived\"";
    format!("{}\n[[route]]\n{upload}\nbody_limit = 100\n[[route]]\n{derived}\n", include_str!("../../gate.toml"))
}

fn upload(length: Option<&str>) -> Request {
    let mut request = request("POST", "/v1/reviews");
    request.body = Body::Streamed;
    length.map_or(request.clone(), |length| with(request, "content-length", length))
}

#[test]
fn operations_and_orders_are_read_whole_and_the_rest_is_not() {
    let stage = Stage::default();
    let reads = |method, path| stage.reads_with(&toml(), method, path);
    assert_eq!(reads("POST", "/v1/sales/demo/orders"), Some(65_536));
    assert_eq!(reads("POST", "/v1/hook"), Some(65_536));
    assert_eq!(reads("POST", "/v1/sales/demo/token"), Some(65_536), "it is not sent on, and its limit holds");
    assert_eq!(reads("POST", "/__gate/reset"), Some(16_384));
    assert_eq!(reads("POST", "/v1/orders/1/cancel"), Some(0), "nothing may come, and that is vouched for");
    for (method, path) in
        [("POST", "/v1/reviews"), ("GET", "/v1/orders/1"), ("POST", "/nowhere"), ("PUT", "/v1/reviews")]
    {
        assert_eq!(reads(method, path), None, "{method} {path}");
    }
}

#[test]
fn a_streamed_request_says_how_far_it_may_go_and_that_its_body_was_not_read() {
    for length in [None, Some("100")] {
        let stage = Stage::default().redis(READ).origin(200, &[], "");
        assert_eq!(stage.play_with(&toml(), upload(length)).status, 200);
        let forwarded = stage.forwarded.borrow()[0].clone();
        assert_eq!((forwarded.streams, forwarded.body.len()), (Some(100), 0));
        let (_, token) = forwarded.headers.iter().find(|(name, _)| name == "sluice-assertion").unwrap();
        assert_eq!(Assertions::new(ASSERTIONS).unwrap().verify(token, Millis(NOW)).unwrap().bdy, "-");
    }
    let stage = Stage::default().redis("[0,1800000000100,\"\",\"\",0,0]").origin(202, &[("sluice-completed", "1")], "");
    stage.play_with(&toml(), order());
    assert_eq!(stage.forwarded.borrow()[0].streams, None, "an operation never streams");
}

#[test]
fn a_length_above_the_limit_is_refused_before_anything_is_charged() {
    let stage = Stage::default();
    let refused = stage.play_with(&toml(), upload(Some("101")));
    assert_eq!((refused.status, code(&refused).as_str()), (413, "body_too_large"));
    assert!(stage.is_untouched());
}

#[test]
fn a_body_that_turns_out_too_long_is_told_so() {
    let stage = Stage::default().redis(READ).origin_fails(OriginFault::BodyTooLarge);
    let refused = stage.play_with(&toml(), upload(None));
    assert_eq!((refused.status, code(&refused).as_str(), refused.get("retry-after")), (413, "body_too_large", None));
}

#[test]
fn a_body_that_was_not_read_is_never_taken_for_an_empty_one() {
    let stage = Stage::default();
    let mut unread = order();
    unread.body = Body::Streamed;
    assert_eq!(code(&stage.play_with(&toml(), unread)), "busy", "the configuration changed while it came in");
    assert!(stage.is_untouched());
}

#[test]
fn a_request_that_has_no_body_is_vouched_for_as_such_and_one_that_has_is_refused() {
    let cancel = |body| {
        let mut request = order();
        request.path = "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B/cancel".into();
        request.body = body;
        request
    };
    let stage = Stage::default().redis(READ).origin(200, &[], "{}");
    assert_eq!(stage.play_with(&toml(), cancel(Body::Whole(Vec::new()))).status, 200);
    let forwarded = stage.forwarded.borrow()[0].clone();
    assert_eq!((forwarded.streams, forwarded.body.len()), (None, 0));
    let (_, token) = forwarded.headers.iter().find(|(name, _)| name == "sluice-assertion").unwrap();
    let vouched = Assertions::new(ASSERTIONS).unwrap().verify(token, Millis(NOW)).unwrap();
    assert_eq!(vouched.bdy, sluice::digest::body_hash(b""));
    for body in [Body::TooLarge, Body::Whole(b"x".to_vec())] {
        let stage = Stage::default();
        let refused = stage.play_with(&toml(), cancel(body));
        assert_eq!((refused.status, code(&refused).as_str()), (413, "body_too_large"));
        assert!(stage.is_untouched());
    }
}
