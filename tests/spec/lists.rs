//! Lists of users and networks: who is kept out before any network is touched, and whom no limit counts.

use sluice::api::response::Response;
use sluice::gate::ports::Request;

use crate::stage::{Stage, code, order, request, user_jwt, with};

const ADMITTED_WITHOUT_LIMITS: &str = "[0,1800000000100,\"\",\"\"]";
const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";

fn listed(lists: &str) -> String {
    format!("{}\n[lists]\n{lists}\n", include_str!("../../gate.toml"))
}

fn from(address: &str) -> Request {
    with(order(), "cf-connecting-ip", address)
}

#[track_caller]
fn is_denied(lists: &str, request: Request) {
    let stage = Stage::default();
    let response: Response = stage.play_with(&listed(lists), request);
    assert_eq!((response.status, code(&response).as_str()), (403, "denied"), "{lists}");
    assert!(response.get("retry-after").is_none() && stage.is_untouched(), "{lists}");
}

#[track_caller]
fn passes(lists: &str, request: Request) {
    let stage = Stage::default().redis(ADMITTED).origin(202, &[("sluice-completed", "1")], "{}");
    assert_eq!(stage.play_with(&listed(lists), request).status, 202, "{lists}");
    assert_eq!(stage.keys(0).len(), 5, "claim, sale, stock and both limits");
}

#[test]
fn who_is_on_the_deny_list_is_refused_before_any_network() {
    is_denied("deny_users = \"42\"", order());
    is_denied("deny_ips = [\"198.51.100.0/24\", \"1.2.3.4\"]", order());
    is_denied("deny_ips = \"1.2.0.0/16\"", from("::ffff:1.2.3.4"));
    is_denied("deny_ips = \"2001:db8::/32\"", from("2001:0DB8:1::7"));
    is_denied("deny_ips = \"1.2.3.4\"", with(request("GET", "/v1/sales/demo"), "authorization", "Bearer bad"));
}

#[test]
fn who_is_on_no_list_is_counted_as_ever() {
    passes("deny_users = \"421\"\nallow_users = \"4\"", order());
    passes("deny_ips = \"1.2.3.5\"\nallow_ips = \"::/0\"", order());
}

#[test]
fn one_ipv6_address_is_denied_without_its_neighbours() {
    is_denied("deny_ips = \"2001:db8::1\"", from("2001:db8:0:0::1"));
    passes("deny_ips = \"2001:db8::1\"", from("2001:db8::2"));
}

#[test]
fn deny_comes_before_allow() {
    is_denied("deny_users = \"42\"\nallow_users = \"42\"", order());
    is_denied("deny_users = \"42\"\nallow_ips = \"0.0.0.0/0\"", order());
    is_denied("deny_ips = \"1.2.3.4\"\nallow_ips = \"1.2.3.4\"", order());
}

#[test]
fn the_allow_list_exempts_from_limits_and_from_nothing_else() {
    for lists in ["allow_users = [\"41\", \"42\"]", "allow_ips = \"1.2.3.0/24\""] {
        let toml = listed(lists);
        let stage = Stage::default().redis(ADMITTED_WITHOUT_LIMITS).origin(202, &[("sluice-completed", "1")], "{}");
        let response = stage.play_with(&toml, order());
        assert_eq!((response.status, response.get("ratelimit")), (202, None), "{lists}");
        let keys = stage.keys(0);
        assert!(keys.len() == 3 && keys[0].contains(":claim:") && !keys.iter().any(|k| k.contains(":b:")), "{keys:?}");

        let stage = Stage::default();
        let refused = stage.play_with(&toml, with(order(), "sluice-order-token", ""));
        assert_eq!(code(&refused), "token_invalid");
        let refused = stage.play_with(&toml, with(order(), "authorization", "Bearer a.b.c"));
        assert_eq!(code(&refused), "identity_invalid");
        assert!(stage.is_untouched(), "{lists}");
    }
}

#[test]
fn a_header_that_a_client_can_send_puts_nobody_on_a_list() {
    let lists = "deny_ips = \"9.9.9.9\"\nallow_ips = \"8.8.8.8\"";
    for name in ["x-forwarded-for", "x-real-ip", "forwarded"] {
        passes(lists, with(order(), name, "9.9.9.9"));
        passes(lists, with(order(), name, "8.8.8.8"));
    }
}

#[test]
fn a_token_for_the_exempt_still_holds_from_the_start_of_the_sale() {
    let starts_at = 1_800_000_100_000_u64;
    let sale = format!("[0,1800000000100,\"{starts_at},1800003600000,0,5,9\",\"\"]");
    let stage = Stage::default().redis(&sale);
    let toml = listed("allow_users = \"42\"");
    let response = stage.play_with(&toml, request("POST", "/v1/sales/demo/token"));
    let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(body["expires_at"], starts_at + 600_000);
    let another = with(request("POST", "/v1/sales/demo/token"), "authorization", &format!("Bearer {}", user_jwt("43")));
    let stage = stage.redis(ADMITTED);
    assert_eq!(stage.play_with(&toml, another).status, 200);
}
