//! Every key that the gate's scripts write ends by itself, whatever path a request took, and none ends too early.

use sluice::admit::{Charge, Verdict};
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::script::admit::{self, Call, Claiming, Sale};
use sluice::script::complete;
use sluice::script::release::{self, Release};

use crate::mode::Redis;
use crate::support::{admit, connect, eval, redis_only, ttls};

const NOW: u64 = 1_800_000_000_000;
const LEASE: Millis = Millis(30_000);
const RETENTION: Millis = Millis(86_400_000);

fn tag(text: &str) -> Tag {
    Tag::of(&[text.as_bytes()])
}

/// A call about operation `op` by `owner`, with two buckets of that name.
fn call(op: &str, owner: &str, body: &str, ms: u64) -> Call {
    let charge = |burst, cost| Charge { quota: Quota::parse(burst, "1/m").unwrap(), cost: Cost(cost) };
    Call {
        claiming: Some(Claiming {
            key: format!("{{p0}}claim:{op}"),
            owner: tag(owner),
            fingerprint: tag(body),
            op_id: tag(op),
            lease: LEASE,
            retention: RETENTION,
            held: false,
        }),
        buckets: vec![(format!("{{p0}}b:{op}:1"), charge(3, 1)), (format!("{{p0}}b:{op}:2"), charge(1_000, 0))],
        now: Millis(NOW + ms).micros(),
        ..Call::default()
    }
}

fn finish(redis: &mut Redis, op: &str, owner: &str, answer: Option<&str>) {
    let reply = eval(redis, &complete::SCRIPT, &[format!("{{p0}}claim:{op}")], &complete::args(&tag(owner), answer));
    assert_eq!(complete::parse(&reply), Ok(true), "{op}");
}

fn give_up(redis: &mut Redis, op: &str, owner: &str, how: Release) {
    let reply = eval(redis, &release::SCRIPT, &[format!("{{p0}}claim:{op}")], &release::args(&tag(owner), how));
    assert_eq!(release::parse(&reply), Ok(true), "{op}");
}

#[track_caller]
fn all_end(redis: &mut Redis, about: &str) -> Vec<(String, i64)> {
    let keys = ttls(redis);
    let forever: Vec<_> = keys.iter().filter(|(_, ttl)| *ttl == -1).collect();
    assert!(forever.is_empty(), "{about}: {forever:?}");
    keys
}

fn ttl_of(redis: &mut Redis, op: &str) -> i64 {
    redis::cmd("PTTL").arg(format!("{{p0}}claim:{op}")).query(redis).unwrap()
}

#[tokio::test]
async fn r_ratelimit_js_95_every_key_that_is_written_ends_by_itself_whatever_path_a_request_took() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let redis = &mut redis;
    let held = |mut call: Call| {
        if let Some(claiming) = &mut call.claiming {
            claiming.held = true;
        }
        call
    };
    let sold_out = Sale { keys: ["{p0}sale".to_owned(), "{p0}stock".to_owned()], refuses: true };
    // What the sale's owner writes has no end of its own; it is none of the gate's keys.
    let () = redis::cmd("HSET").arg(&["{p0}sale", "starts_at", "1", "ends_at", "9999999999999"]).query(redis).unwrap();
    let () = redis::cmd("EXPIRE").arg("{p0}sale").arg(1_000).query(redis).unwrap();
    let () = redis::cmd("SET").arg(&["{p0}stock", "0", "EX", "1000"]).query(redis).unwrap();
    type Step = (&'static str, Box<dyn Fn(&mut Redis)>);
    let steps: Vec<Step> = vec![
        ("admitted", Box::new(|r| drop(admit(r, &call("a", "x", "1", 0))))),
        ("in flight", Box::new(|r| drop(admit(r, &call("a", "y", "1", 1))))),
        ("again by its owner", Box::new(|r| drop(admit(r, &call("a", "x", "1", 1))))),
        ("mismatch, charged", Box::new(|r| drop(admit(r, &call("a", "y", "2", 1))))),
        ("mismatch, limited", Box::new(|r| (0..5).for_each(|_| drop(admit(r, &call("a", "y", "2", 1)))))),
        ("taken over", Box::new(|r| drop(admit(r, &call("a", "z", "1", 200_000))))),
        ("completed", Box::new(|r| finish(r, "a", "z", Some("202\n\nt{}")))),
        ("replayed", Box::new(|r| drop(admit(r, &call("a", "w", "1", 200_001))))),
        ("held", Box::new(move |r| drop(admit(r, &held(call("b", "x", "1", 0)))))),
        ("held, unknown", Box::new(move |r| drop(admit(r, &held(call("b", "y", "1", 60_000)))))),
        ("held, completed without its answer", Box::new(|r| finish(r, "b", "x", None))),
        ("tombstone", Box::new(|r| drop(admit(r, &call("b", "y", "1", 60_000))))),
        ("claimed", Box::new(|r| drop(admit(r, &call("c", "x", "1", 0))))),
        ("given up for later", Box::new(|r| give_up(r, "c", "x", Release::NotBefore(Millis(NOW + 5_000))))),
        ("taken over then", Box::new(|r| drop(admit(r, &call("c", "y", "1", 5_000))))),
        ("forgotten", Box::new(|r| give_up(r, "c", "y", Release::Forget))),
        ("too late", Box::new(|r| drop(admit(r, &Call { call_by: Millis(1), ..call("d", "x", "1", 0) })))),
        ("else refused", Box::new(|r| drop(admit(r, &Call { else_refuse: true, ..call("e", "x", "1", 0) })))),
        (
            "sold out",
            Box::new(move |r| drop(admit(r, &Call { sale: Some(sold_out.clone()), ..call("f", "x", "1", 0) }))),
        ),
        ("no operation", Box::new(|r| drop(admit(r, &Call { claiming: None, ..call("g", "", "", 0) })))),
        ("by Redis' own clock", Box::new(|r| drop(admit(r, &Call { now: Micros(0), ..call("h", "x", "1", 0) })))),
        ("limited", Box::new(|r| (0..5).for_each(|n| drop(admit(r, &call("i", &n.to_string(), &n.to_string(), 0)))))),
    ];
    for (about, step) in steps {
        step(redis);
        all_end(redis, about);
    }
    let keys = all_end(redis, "at the end");
    let names: Vec<_> = keys.iter().map(|(key, _)| key.strip_prefix("{p0}").unwrap()).collect();
    assert!(names.contains(&"claim:a") && names.contains(&"claim:b") && names.contains(&"b:a:1"), "{names:?}");
    for untouched in ["claim:c", "claim:d", "claim:e", "claim:f", "b:d:1", "b:e:1", "b:f:1", "b:a:2"] {
        assert!(!names.contains(&untouched), "{untouched}");
    }
    assert!(ttl_of(redis, "a") > 86_000_000 && ttl_of(redis, "b") > 86_000_000, "answers stay for the retention");
    assert!((30_000..=40_000).contains(&ttl_of(redis, "h")), "a claim in flight stays for its lease and a margin");
}

/// A record that some other hand wrote, in flight but without a time at which it could be taken over.
#[tokio::test]
async fn r_powertools_python_8386_a_claim_without_a_deadline_is_locked_until_its_ttl_and_no_longer() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    for (n, state) in ["F", "H"].into_iter().enumerate() {
        let op = format!("op{n}");
        let call = |owner: &str, ms| call(&op, owner, "1", ms);
        let (owner, print, id) = (tag("gone"), tag("1"), tag(&op));
        let record = format!("{state}{}{:010}{owner}{print}{id}", " ".repeat(13), RETENTION.0);
        let key = format!("{{p0}}claim:{op}");
        let () = redis::cmd("SET").arg(&[&key, &record, "PX", "1500"]).query(&mut redis).unwrap();
        let mut still_there = true;
        let deadline = xtask::clock::now() + std::time::Duration::from_secs(20);
        while still_there {
            assert!(xtask::clock::now() < deadline, "it never ends");
            let later = call("next", 900_000_000);
            let mut command = redis::cmd("EVAL");
            command.arg(admit::SCRIPT.source()).arg(later.keys().len()).arg(later.keys());
            for arg in later.args() {
                match arg {
                    sluice_upstash::Arg::Str(text) => command.arg(text),
                    sluice_upstash::Arg::Int(number) => command.arg(number),
                };
            }
            let said: redis::RedisResult<Vec<redis::Value>> = command.query(&mut redis);
            let admitted = matches!(said.as_deref(), Ok([redis::Value::Int(0), ..]));
            still_there =
                redis::cmd("GET").arg(&key).query::<Option<String>>(&mut redis).unwrap() == Some(record.clone());
            assert!(!(admitted && still_there), "it was taken over: {said:?}");
        }
        let fresh = admit(&mut redis, &call("after", 900_000_000));
        let settled = matches!(fresh, Verdict::Admitted { taken_over: None, .. } | Verdict::InFlight { .. });
        assert!(settled, "and then it is an operation like any other: {fresh:?}");
    }
}
