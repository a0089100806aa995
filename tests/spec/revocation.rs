//! User JWTs that were revoked before their time, by their `jti`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use sluice::gate::ports::Request;
use sluice_upstash::TransportFault;

use crate::stage::{NOW, Stage, USERS, code, order, request, with};

const DONE: &[(&str, &str)] = &[("sluice-completed", "1"), ("sluice-outcome", "final")];

fn revoking() -> String {
    include_str!("../../gate.toml").replacen("[identity]\n", "[identity]\nrevocation = true\n", 1)
}

/// The request under a JWT of user 42 that has these claims, too.
fn under(request: Request, more: &str) -> Request {
    let claims =
        format!(r#"{{"iss":"https://shop.example","aud":"sluice","sub":"42","exp":{}{more}}}"#, NOW / 1000 + 3600);
    let signed = [r#"{"alg":"HS256","typ":"JWT"}"#, &claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let mac = Hmac::<Sha256>::new_from_slice(USERS.as_bytes()).unwrap().chain_update(&signed).finalize().into_bytes();
    with(request, "authorization", &format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(mac)))
}

const JTI: &str = r#","jti":"the-id-of-a-jwt""#;

#[test]
fn the_mark_of_a_revoked_jwt_is_read_by_the_same_call() {
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",0,0]").origin(202, DONE, "{}");
    assert_eq!(stage.play_with(&revoking(), under(order(), JTI)).status, 202);
    assert_eq!((stage.commands().len(), stage.args(0)[11].as_u64()), (1, Some(1)));
    let mark = stage.keys(0)[1].clone();
    assert_eq!(mark, "sl1:{p0}:revoked:qx6tnLyvpl-Z8LVyDn-u1w", "as docs/operations.md has it computed");

    let stage = Stage::default().redis("[11,1800000000000]");
    let refused = stage.play_with(&revoking(), under(order(), JTI));
    assert_eq!((refused.status, code(&refused).as_str()), (401, "identity_revoked"));
    assert!(stage.forwarded.borrow().is_empty());
}

#[test]
fn a_jwt_without_an_id_cannot_be_revoked_and_is_not_accepted() {
    for more in ["", r#","jti":"""#, r#","jti":7"#] {
        let stage = Stage::default();
        assert_eq!(code(&stage.play_with(&revoking(), under(order(), more))), "identity_invalid", "{more}");
        assert!(stage.is_untouched());
    }
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",0,0]").origin(202, DONE, "{}");
    assert_eq!(stage.play(under(order(), "")).status, 202, "where nothing is revoked it needs none");
}

#[test]
fn while_redis_is_away_open_routes_pass_unread_and_each_is_logged() {
    let read = || under(request("GET", "/v1/orders/0-1"), JTI);
    let stage = Stage::default().redis_fails(TransportFault::Timeout).origin(200, &[], "{}");
    assert_eq!(stage.play_with(&revoking(), read()).status, 200);
    let skipped: Vec<String> =
        stage.logged.borrow().iter().filter(|line| line.contains("revocation_skipped")).cloned().collect();
    let mark = stage.keys(0)[0].rsplit(':').next().unwrap().to_owned();
    assert_eq!(skipped, [format!(r#"{{"event":"revocation_skipped","at":"order-status","mark":"{mark}"}}"#)]);
    assert!(!skipped[0].contains("the-id-of-a-jwt"));

    let stage = Stage::default().redis_fails(TransportFault::Timeout).redis("0");
    assert_eq!(code(&stage.play_with(&revoking(), under(order(), JTI))), "degraded");
    assert!(!stage.logged.borrow().iter().any(|line| line.contains("revocation_skipped")), "a closed route is closed");
}

#[test]
fn a_route_without_limits_asks_for_the_mark_alone() {
    let bare = revoking().replace("limits = [\"read\"]\n", "");
    let stage = Stage::default().redis("[11,1800000000000]");
    assert_eq!(code(&stage.play_with(&bare, under(request("GET", "/v1/orders/0-1"), JTI))), "identity_revoked");
    assert_eq!(stage.keys(0).len(), 1);
}
