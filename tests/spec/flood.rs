//! The platform's own limit: a first stage that costs no call, where it is bound.

use crate::stage::{Stage, code, order, request, with};

const ADMITTED: &str = "[0,1800000000100,\"\",\"\",500000,100000]";
const DONE: &[(&str, &str)] = &[("sluice-completed", "1")];

fn lists(lists: &str) -> String {
    include_str!("../../gate.toml").replacen(
        "[[limit]]",
        &format!("[flood]\nperiod_s = 10\n[lists]\n{lists}\n[[limit]]"),
        1,
    )
}

#[test]
fn what_it_refuses_asks_nobody_else() {
    let stage = Stage::default().with_flood();
    stage.flooded.set(true);
    for asked in [order(), with(order(), "authorization", "Bearer nonsense"), request("GET", "/nowhere")] {
        let refused = stage.play_with(&lists(""), asked);
        assert_eq!((refused.status, code(&refused).as_str()), (429, "too_many_requests"));
        assert_eq!((refused.get("retry-after"), refused.get("ratelimit")), (Some("10"), None));
    }
    assert!(stage.is_untouched());
}

#[test]
fn it_counts_addresses_as_limits_do_and_is_not_told_them() {
    let stage = Stage::default().with_flood();
    for ip in ["1.2.3.4", "::ffff:1.2.3.4", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"] {
        stage.play(with(request("GET", "/nowhere"), "cf-connecting-ip", ip));
    }
    let counted = stage.counted.borrow();
    assert!(counted[0] == counted[1] && counted[2] == counted[3] && counted[3] != counted[4], "{counted:?}");
    assert!(counted.iter().all(|key| key.len() == 22 && !key.contains('.')), "{counted:?}");
}

#[test]
fn lists_and_paths_come_before_it() {
    let stage = Stage::default().with_flood();
    let toml = lists("deny_ips = \"9.9.9.9\"\nallow_ips = \"8.8.8.8\"");
    let from = |ip, path| with(request("GET", path), "cf-connecting-ip", ip);
    assert_eq!(code(&stage.play_with(&toml, from("9.9.9.9", "/nowhere"))), "denied");
    assert_eq!(code(&stage.play_with(&toml, from("1.1.1.1", "/a%2fb"))), "invalid_path");
    assert_eq!(code(&stage.play_with(&toml, from("8.8.8.8", "/nowhere"))), "not_found");
    assert_eq!(stage.play_with(&toml, from("1.1.1.1", "/healthz")).status, 200);
    assert!(stage.counted.borrow().is_empty());
}

#[test]
fn where_it_is_not_bound_it_is_skipped() {
    let stage = Stage::default().redis(ADMITTED).origin(202, DONE, "");
    stage.flooded.set(true);
    assert_eq!(stage.play(order()).status, 202);
    assert!(stage.counted.borrow().is_empty());
}
