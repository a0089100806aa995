//! How requests are told to be attempts at one operation: by a client's key, or by a key derived from the body.

use serde_json::Value;
use sluice::gate::ports::{Body, OriginFault, Request};
use sluice_upstash::TransportFault;

use crate::stage::{Stage, code, request, user_jwt, with};

const ADMITTED: &str = "[0,1800000000100,\"\",\"\",100000]";
const BUSY: &str = "[2,1800000000000,1800000000300]";

/// A gate whose one route is for third parties.
fn gate(lines: &str) -> String {
    format!(
        "[identity]\nissuer = \"https://shop.example\"\naudience = \"sluice\"\nip_missing = \"shared\"\n\
         ip_missing_limit = \"no-ip\"\n[[limit]]\nname = \"no-ip\"\nkey = []\nburst = 10\nrate = \"5/s\"\n\
         [[limit]]\nname = \"ip\"\nkey = \"ip\"\nburst = 20\nrate = \"10/s\"\n\
         [[route]]\nname = \"partner\"\nmethod = \"POST\"\npath = \"/v1/partner\"\nlimits = [\"ip\"]\n{lines}\n"
    )
}

fn by_key() -> String {
    gate("idempotency = \"client-key\"")
}

fn by_body() -> String {
    gate("idempotency = \"derived\"\nderived_from = [\"order\"]\non_ambiguous = \"retry\"")
}

fn partner(body: &str) -> Request {
    let mut request = request("POST", "/v1/partner");
    request.body = Body::Whole(body.as_bytes().to_vec());
    request
}

fn keyed(key: &str) -> Request {
    with(partner("{}"), "idempotency-key", key)
}

/// The claim that Redis is asked for.
fn claim(gate: &str, request: Request) -> String {
    let stage = Stage::default().redis(BUSY);
    assert_eq!(code(&stage.play_with(gate, request)), "in_progress");
    stage.keys(0)[0].clone()
}

#[test]
fn r_gravitino_pr12470_a_quoted_and_a_bare_key_are_the_same() {
    let bare = claim(&by_key(), keyed("k-1"));
    assert_eq!(claim(&by_key(), keyed("\"k-1\"")), bare);
    assert_ne!(claim(&by_key(), keyed("K-1")), bare, "otherwise byte for byte");
    assert!(bare.starts_with("sl1:{p0}:claim:"), "an operation without a sale lives in partition 0: {bare}");
}

#[test]
fn r_remitlend_pr1680_a_key_belongs_to_its_user_and_route() {
    let mine = claim(&by_key(), keyed("k"));
    let theirs = with(keyed("k"), "authorization", &format!("Bearer {}", user_jwt("43")));
    assert_ne!(claim(&by_key(), theirs), mine);
    assert_ne!(claim(&by_key().replace("name = \"partner\"", "name = \"other\""), keyed("k")), mine);
    assert_eq!(claim(&by_key(), with(keyed("k"), "cf-connecting-ip", "9.9.9.9")), mine, "wherever they come from");
}

#[test]
fn r_granit_dotnet_pr1151_a_key_is_1_to_255_visible_characters_and_must_be_there() {
    let refused = |request| {
        let stage = Stage::default();
        let code = code(&stage.play_with(&by_key(), request));
        assert!(stage.is_untouched());
        code
    };
    assert_eq!(refused(partner("{}")), "idempotency_key_missing");
    for bad in ["", "\"\"", "a b", "ä", &"k".repeat(256)] {
        assert_eq!(refused(keyed(bad)), "invalid_idempotency_key", "{bad:?}");
    }
    claim(&by_key(), keyed(&"k".repeat(255)));
}

#[test]
fn without_a_user_an_operation_belongs_to_its_address_and_without_either_to_nobody() {
    let open = by_key() + "user = \"optional\"\n";
    let anonymous = |request: Request| {
        let mut request = request;
        request.headers.retain(|(name, _)| name != "authorization");
        request
    };
    let here = claim(&open, anonymous(keyed("k")));
    assert_ne!(claim(&open, anonymous(with(keyed("k"), "cf-connecting-ip", "9.9.9.9"))), here);
    assert_ne!(claim(&open, keyed("k")), here, "a user who is known has operations of their own");
    let mut nobody = anonymous(keyed("k"));
    nobody.headers.retain(|(name, _)| name != "cf-connecting-ip");
    let stage = Stage::default();
    assert_eq!(code(&stage.play_with(&open, nobody)), "client_ip_missing");
    assert!(stage.is_untouched());
}

/// Claim, op id, lease and retention that Redis is asked for.
fn derived(body: &str) -> (String, String, Value, Value) {
    let stage = Stage::default().redis(ADMITTED).origin(202, &[], "{}").redis("1");
    assert_eq!(stage.play_with(&by_body(), partner(body)).status, 202);
    let args = stage.args(0);
    let op_id = args[2].as_str().unwrap().to_owned();
    let forwarded = stage.forwarded.borrow()[0].clone();
    assert!(forwarded.headers.contains(&("idempotency-key".into(), op_id.clone())), "the origin sees the op id");
    (stage.keys(0)[0].clone(), op_id, args[3].clone(), args[4].clone())
}

#[test]
fn a_derived_key_holds_for_10_s_and_the_origin_knows_each_such_operation_by_an_id_of_its_own() {
    let (claim, op_id, lease, retention) = derived(r#"{"order":7,"at":1}"#);
    assert_eq!((lease, retention), (10_000.into(), 10_000.into()));
    assert!(!claim.ends_with(&op_id), "what comes back after 10 s is another operation");
    assert_eq!(derived(r#"{"at":2,"order":7}"#).0, claim);
    assert_ne!(derived(r#"{"order":8,"at":1}"#).0, claim);
    let stage = Stage::default();
    assert_eq!(code(&stage.play_with(&by_body(), partner("{}"))), "invalid_body");
}

#[test]
fn the_op_id_of_a_derived_key_outlives_a_lost_reply_and_a_take_over() {
    let broken = TransportFault::Network("reset".into());
    let stage = Stage::default().redis_fails(broken).redis(ADMITTED).origin(202, &[], "").redis("1");
    stage.play_with(&by_body(), partner(r#"{"order":7}"#));
    assert_eq!(stage.args(0), stage.args(1));
    let taken_over = "[0,1800000000000,\"\",\"the-first-one\",100000]";
    let stage = Stage::default().redis(taken_over).origin_fails(OriginFault::Timeout).redis("1");
    stage.play_with(&by_body(), partner(r#"{"order":7}"#));
    let forwarded = stage.forwarded.borrow()[0].clone();
    assert!(forwarded.headers.contains(&("idempotency-key".into(), "the-first-one".into())));
}

#[test]
fn duplicates_under_a_derived_key_are_answered_from_memory() {
    let stage = Stage::default().redis(ADMITTED).origin(201, &[], "made").redis("1");
    let body = r#"{"order":7}"#;
    stage.play_with(&by_body(), partner(body));
    let again = stage.play_with(&by_body(), partner(body));
    assert_eq!((again.status, again.get("idempotency-replayed")), (201, Some("true")));
    assert_eq!(stage.forwarded.borrow().len(), 1);
}
