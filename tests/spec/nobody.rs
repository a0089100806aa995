//! A request that does not say who or where it is from: an explicit case of the policy, never a silent fallback.

use sluice::config::Gate;
use sluice::gate::ports::Request;

use crate::stage::{Stage, code, order, request, with};

const TOML: &str = include_str!("../../gate.toml");
const READ: &str = "[0,1800000000000,\"\",\"\",0]";

fn without(mut request: Request, name: &str) -> Request {
    request.headers.retain(|(n, _)| n != name);
    request
}

#[test]
fn r_kong_6837_a_missing_user_is_a_case_of_the_policy() {
    for (method, path) in [
        ("POST", "/v1/sales/demo/orders"),
        ("POST", "/v1/sales/demo/token"),
        ("GET", "/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B"),
        ("GET", "/v1/sales/demo/orders/mine"),
    ] {
        let stage = Stage::default();
        let refused = stage.play(without(request(method, path), "authorization"));
        assert_eq!((refused.status, code(&refused).as_str()), (401, "identity_missing"), "{path}");
        assert!(stage.is_untouched(), "{path}");
    }
    let known = Stage::default().redis(READ).origin(200, &[], "");
    let nobody = Stage::default().redis(READ).origin(200, &[], "");
    known.play(request("GET", "/v1/sales/demo"));
    nobody.play(without(request("GET", "/v1/sales/demo"), "authorization"));
    assert_eq!(known.keys(0), nobody.keys(0), "where a user is optional, nothing is counted by user");
}

#[test]
fn r_kong_6837_a_limit_by_user_is_refused_where_a_user_may_be_missing() {
    let text = TOML.replacen("user = \"optional\"\nlimits = [\"read\"]", "user = \"optional\"\nlimits = [\"user\"]", 1);
    assert_ne!(text, TOML);
    let faults = Gate::parse(&text).unwrap_err();
    assert!(faults.len() == 1 && faults[0].message.contains("keyed by user needs"), "{faults:?}");
}

#[test]
fn r_alps_pr18_without_the_platforms_header_the_configured_bucket_counts_whatever_else_is_said() {
    let strict = |request: Request| {
        let stage =
            Stage::default().redis("[0,1800000000000,\"\",\"\",0,0]").origin(202, &[("sluice-completed", "1")], "");
        assert_eq!(stage.play(request).status, 202);
        stage.keys(0)
    };
    let plain = strict(without(order(), "cf-connecting-ip"));
    assert!(plain.iter().any(|key| key.contains(":b:no-ip:")) && !plain.iter().any(|key| key.contains(":b:ip:")));
    let made_up = ["x-forwarded-for", "x_forwarded_for", "x-real-ip", "forwarded", "true-client-ip", "x-client-ip"];
    for name in made_up {
        for value in ["198.51.100.9", "for=198.51.100.9", "127.0.0.1, 198.51.100.9"] {
            let spoofed = with(without(order(), "cf-connecting-ip"), name, value);
            assert_eq!(strict(spoofed), plain, "{name}: {value}");
            let here = strict(order());
            assert_eq!(strict(with(order(), name, value)), here, "{name}: nor does it move who has an address");
        }
    }
    for unreadable in ["", "unknown", "1.2.3.4, 5.6.7.8", "1.2.3.4:80", "localhost"] {
        assert_eq!(strict(with(order(), "cf-connecting-ip", unreadable)), plain, "{unreadable:?}");
    }
}

#[test]
fn r_alps_pr18_or_it_is_refused_where_the_configuration_says_so() {
    let text = TOML.replace("ip_missing = \"shared\"\nip_missing_limit = \"no-ip\"\n", "ip_missing = \"refuse\"\n");
    assert_ne!(text, TOML);
    for asked in [without(order(), "cf-connecting-ip"), with(order(), "cf-connecting-ip", "unknown")] {
        let stage = Stage::default();
        let spoofed = with(asked, "x-forwarded-for", "198.51.100.9");
        let refused = stage.play_with(&text, spoofed);
        assert_eq!((refused.status, code(&refused).as_str()), (400, "client_ip_missing"));
        assert!(stage.is_untouched());
    }
}
