//! Costs, shards and shadow: what limits ask of Redis, and what is made of its reply.

use sluice::gate::ports::{Body, Request};

use crate::stage::{Stage, code, order, request, user_jwt, with};

const GATE: &str = include_str!("../../gate.toml");
const DONE: &[(&str, &str)] = &[("sluice-completed", "1"), ("sluice-outcome", "final")];

/// gate.toml with these lines in the limit of that name.
fn with_limit(name: &str, lines: &str) -> String {
    let head = format!("[[limit]]\nname = \"{name}\"\n");
    assert!(GATE.contains(&head));
    GATE.replace(&head, &format!("{head}{lines}\n"))
}

fn order_of(quantity: u32) -> Request {
    let mut order = order();
    order.body = Body::Whole(format!("{{\"quantity\":{quantity}}}").into_bytes());
    order
}

/// Interval, burst and cost of each bucket that Redis was asked about.
fn buckets(stage: &Stage, call: usize) -> Vec<[u64; 3]> {
    let args: Vec<u64> = stage.args(call)[13..].iter().map(|n| n.as_u64().unwrap()).collect();
    args.chunks(3).map(|bucket| bucket.try_into().unwrap()).collect()
}

#[test]
fn a_limit_costs_a_number_or_the_quantity_of_the_order() {
    let limited = "[1,1800000000000,\"\",2500000,0]";
    let by_quantity = with_limit("user", "cost = \"quantity\"");
    let stage = Stage::default().redis(limited);
    assert_eq!(code(&stage.play_with(&by_quantity, order_of(3))), "too_many_requests");
    assert_eq!(buckets(&stage, 0), [[500_000, 5, 3], [100_000, 20, 1]]);

    let stage = Stage::default().redis(limited);
    stage.play_with(&with_limit("ip", "cost = 4"), order_of(3));
    assert_eq!(buckets(&stage, 0), [[500_000, 5, 1], [100_000, 20, 4]]);
}

#[test]
fn r_redis_pr15113_a_quantity_that_no_bucket_holds_is_refused_for_good_and_costs_no_call() {
    let stage = Stage::default();
    let refused = stage.play_with(&with_limit("user", "cost = \"quantity\""), order_of(6));
    assert_eq!((refused.status, code(&refused).as_str()), (400, "never_admissible"));
    assert_eq!(refused.get("retry-after"), None);
    assert!(stage.is_untouched());
}

#[test]
fn r_ratelimit_js_ephemeral_cache_what_is_refused_at_a_large_cost_may_pass_at_a_small_one() {
    let by_quantity = with_limit("user", "cost = \"quantity\"");
    let stage = Stage::default().redis("[1,1800000000000,\"\",1500000,0]");
    let refused = stage.play_with(&by_quantity, order_of(5));
    assert_eq!(refused.get("retry-after"), Some("2"), "1.5 s until five are free");
    assert_eq!(code(&stage.play_with(&by_quantity, order_of(4))), "too_many_requests", "from memory");
    assert_eq!(stage.commands().len(), 1);
    let stage = stage.redis("[0,1800000000000,\"\",\"\",2500000,100000]").origin(202, DONE, "{}");
    assert_eq!(stage.play_with(&by_quantity, order_of(2)).status, 202, "two are left");
}

#[test]
fn a_limit_in_shadow_refuses_nothing_is_told_to_no_client_and_logged() {
    let shadow = with_limit("user", "shadow = true");
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",100000,-2500001]").origin(202, DONE, "{}");
    let passed = stage.play_with(&shadow, order());
    assert_eq!((passed.status, passed.get("ratelimit")), (202, Some("\"ip\";r=19;t=1")));
    assert_eq!(passed.get("ratelimit-policy"), Some("\"ip\";q=20;w=2"));
    assert_eq!(stage.args(0)[12], 1, "one of the buckets, the last");
    assert!(stage.keys(0).last().unwrap().contains(":b:user:"));
    let line = stage.logged.borrow()[0].clone();
    assert!(line.contains("\"shadow\":[\"user\"]") && line.contains("\"verdict\":\"admitted\""), "{line}");
}

#[test]
fn memory_refuses_nothing_by_a_limit_in_shadow() {
    let shadow = with_limit("user", "shadow = true");
    let stage = Stage::default().redis("[1,1800000000000,\"\",2000000,-2500001]");
    let refused = stage.play_with(&shadow, order());
    assert_eq!(refused.get("ratelimit"), Some("\"ip\";r=0;t=2"), "the address refuses, and is all that is told");
    let elsewhere = with(order(), "cf-connecting-ip", "9.9.9.9");
    let stage = stage.redis("[0,1800000000000,\"\",\"\",100000,-2500001]").origin(202, DONE, "{}");
    assert_eq!(stage.play_with(&shadow, elsewhere).status, 202);
}

#[test]
fn a_quantity_that_only_a_limit_in_shadow_could_not_hold_passes() {
    let shadow = with_limit("user", "shadow = true\ncost = \"quantity\"");
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",100000,-1]").origin(202, DONE, "{}");
    assert_eq!(stage.play_with(&shadow, order_of(6)).status, 202);
}

#[test]
fn a_route_in_shadow_has_all_its_limits_there_and_demands_the_rest_as_before() {
    let shadow = GATE.replace("name = \"order\"\n", "name = \"order\"\nshadow = true\n");
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",-2500001,-2000001]").origin(202, DONE, "{}");
    let passed = stage.play_with(&shadow, order());
    assert_eq!((passed.status, passed.get("ratelimit"), stage.args(0)[12].as_u64()), (202, None, Some(2)));
    assert!(stage.logged.borrow()[0].contains("\"shadow\":[\"user\",\"ip\"]"));
    let forged = with(order(), "sluice-order-token", "AAAA");
    assert_eq!(code(&stage.play_with(&shadow, forged)), "token_invalid");
    let stage = Stage::default().redis("[2,1800000000000,1800000000300]");
    assert_eq!(code(&stage.play_with(&shadow, order())), "in_progress");
}

#[test]
fn a_refusal_by_a_limit_that_cannot_refuse_is_no_reply() {
    let stage = Stage::default().redis("[0,1800000000000,\"\",\"\",-5,0]");
    assert_eq!(code(&stage.play(order())), "degraded");
}

/// gate.toml with a limit of all orders of a sale, in four shards.
fn sharded() -> String {
    let limit = "[[limit]]\nname = \"sale\"\nkey = \"sku\"\nburst = 100\nrate = \"1000/s\"\nshards = 4\n\n[[limit]]";
    GATE.replacen("[[limit]]", limit, 1).replace("limits = [\"user\", \"ip\"]", "limits = [\"user\", \"ip\", \"sale\"]")
}

#[test]
fn an_isolate_asks_one_shard_of_a_sale_wide_limit_and_always_the_same() {
    let shard = |chance: u128, user: &str| {
        let stage = Stage::default().redis("[1,1800000000000,\"\",0,0,100000]");
        stage.draw(chance << 96);
        let order = with(order(), "authorization", &format!("Bearer {}", user_jwt("42")));
        let limited = stage.play_with(&sharded(), with(order, "user-agent", user));
        assert_eq!((code(&limited).as_str(), limited.get("retry-after")), ("too_many_requests", Some("1")));
        assert_eq!(buckets(&stage, 0)[2], [4_000, 25, 1], "a quarter of burst and rate");
        stage.keys(0).last().unwrap().clone()
    };
    let first = shard(0, "a");
    assert!(first.starts_with("sl1:{p0}:b:sale:") && first.ends_with(":0"), "{first}");
    assert_eq!(shard(4, "b"), first);
    assert_eq!(shard(3, "b"), first.strip_suffix('0').unwrap().to_owned() + "3");
}

#[test]
fn every_request_of_an_isolate_meets_its_shard() {
    let stage = Stage::default();
    let keys: Vec<String> = (0..8)
        .map(|i| {
            let again = with(request("POST", "/v1/sales/demo/orders"), "content-type", "application/json");
            let mut again = with(again, "sluice-order-token", &crate::stage::order_token(i, "42", "demo"));
            again.body = Body::Whole(b"{}".to_vec());
            let stage = stage.clone().redis("[2,1800000000000,1800000000300]");
            assert_eq!(code(&stage.play_with(&sharded(), again)), "in_progress");
            stage.keys(i.into()).last().unwrap().clone()
        })
        .collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}
