//! The claim of an operation in real Redis: admit, complete and release, and what each leaves behind.

use redis::Connection;
use sluice::admit::{Charge, Verdict};
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::script::admit::{Call, Claiming};
use sluice::script::release::Release;
use sluice::script::{complete, release};

use crate::support::{admit, connect, eval, redis_only, ttls};

const KEY: &str = "sl1:{p0}:claim:op";
const BUCKET: &str = "sl1:{p0}:b:user:x";
const NOW: u64 = 1_800_000_000_000;

fn tag(text: &str) -> Tag {
    Tag::of(&[text.as_bytes()])
}

/// A call by `owner` at `ms` after [`NOW`], with one bucket of 10.
fn call(owner: &str, body: &str, ms: u64) -> Call {
    let charge = Charge { quota: Quota::parse(10, "1/h").unwrap(), cost: Cost(1) };
    Call {
        claiming: Some(Claiming {
            key: KEY.to_owned(),
            owner: tag(owner),
            fingerprint: tag(body),
            op_id: tag("op"),
            lease: Millis(30_000),
            retention: Millis(86_400_000),
            held: false,
        }),
        buckets: vec![(BUCKET.to_owned(), charge)],
        sale: None,
        else_refuse: false,
        call_by: Millis(0),
        now: Millis(NOW + ms).micros(),
    }
}

fn held(mut call: Call) -> Call {
    if let Some(claiming) = &mut call.claiming {
        claiming.held = true;
    }
    call
}

/// Everything that is stored, to show that a refusal changes nothing.
fn stored(redis: &mut Connection) -> (Option<String>, Option<String>) {
    redis::cmd("MGET").arg(KEY).arg(BUCKET).query(redis).unwrap()
}

fn finish(redis: &mut Connection, owner: &str, answer: Option<&str>) -> bool {
    let reply = eval(redis, &complete::SCRIPT, &[KEY.to_owned()], &complete::args(&tag(owner), answer));
    complete::parse(&reply).unwrap()
}

fn give_up(redis: &mut Connection, owner: &str, how: Release) -> bool {
    let reply = eval(redis, &release::SCRIPT, &[KEY.to_owned()], &release::args(&tag(owner), how));
    release::parse(&reply).unwrap()
}

fn is_admitted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Admitted { .. })
}

#[tokio::test]
async fn an_operation_is_claimed_once_answered_once_and_replayed() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    assert!(is_admitted(&admit(&mut redis, &call("a", "x", 0))));
    let before = stored(&mut redis);
    assert_eq!(admit(&mut redis, &call("b", "x", 1)), Verdict::InFlight { deadline: Millis(NOW + 30_000) });
    assert_eq!(stored(&mut redis), before, "r_idempot_js_182: the second changes nothing and is not charged");
    assert!(finish(&mut redis, "a", Some("202\n\nt{}")));
    assert_eq!(admit(&mut redis, &call("c", "x", 2)), Verdict::Replay { answer: "202\n\nt{}".into() });
    assert!(ttls(&mut redis).iter().all(|(key, ttl)| *ttl > if key == KEY { 86_000_000 } else { 0 }));
}

#[tokio::test]
async fn r_powertools_typescript_5705_a_mismatch_is_refused_charged_and_outlives_completion() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    admit(&mut redis, &call("a", "x", 0));
    let (claim, bucket) = stored(&mut redis);
    assert!(matches!(admit(&mut redis, &call("b", "y", 0)), Verdict::Mismatch { .. }));
    let (same, charged) = stored(&mut redis);
    assert_eq!(claim, same);
    assert_ne!(bucket, charged);
    finish(&mut redis, "a", Some("202\n\nt"));
    assert!(matches!(admit(&mut redis, &call("b", "y", 0)), Verdict::Mismatch { .. }));
    for _ in 0..7 {
        assert!(matches!(admit(&mut redis, &call("b", "y", 0)), Verdict::Mismatch { .. }));
    }
    let empty = stored(&mut redis);
    assert!(matches!(admit(&mut redis, &call("b", "y", 0)), Verdict::Limited { .. }));
    assert_eq!(stored(&mut redis), empty);
}

#[tokio::test]
async fn r_redis_js_http_the_same_call_run_twice_claims_and_charges_once() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let first = admit(&mut redis, &call("a", "x", 0));
    let before = stored(&mut redis);
    assert_eq!(admit(&mut redis, &call("a", "x", 0)), first);
    assert_eq!(stored(&mut redis), before);
}

#[tokio::test]
async fn r_express_idempotency_32_a_lapsed_lease_is_taken_over_and_the_late_owner_is_refused() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    admit(&mut redis, &call("a", "x", 0));
    assert!(matches!(admit(&mut redis, &call("b", "x", 29_999)), Verdict::InFlight { .. }));
    match admit(&mut redis, &call("b", "x", 30_000)) {
        Verdict::Admitted { taken_over, .. } => assert_eq!(taken_over, Some(tag("op").to_string())),
        other => panic!("{other:?}"),
    }
    assert!(!finish(&mut redis, "a", Some("202\n\nt")), "r_truxify_4623");
    assert!(!give_up(&mut redis, "a", Release::Forget));
    assert!(finish(&mut redis, "b", Some("202\n\nt")));
    assert!(!finish(&mut redis, "b", Some("500\n\nt")), "only while in flight");
}

#[tokio::test]
async fn a_held_claim_is_never_taken_over() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    admit(&mut redis, &held(call("a", "x", 0)));
    assert_eq!(admit(&mut redis, &held(call("b", "x", 30_000))), Verdict::OutcomeUnknown);
    assert!(ttls(&mut redis).iter().any(|(key, ttl)| key == KEY && *ttl > 86_000_000), "kept for the retention");
}

#[tokio::test]
async fn a_claim_given_up_is_free_at_once_or_from_the_given_time_on() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    admit(&mut redis, &call("a", "x", 0));
    assert!(give_up(&mut redis, "a", Release::NotBefore(Millis(NOW + 5_000))));
    assert!(matches!(admit(&mut redis, &call("b", "x", 4_999)), Verdict::InFlight { .. }));
    assert!(is_admitted(&admit(&mut redis, &call("b", "x", 5_000))));
    assert!(give_up(&mut redis, "b", Release::NotBefore(Millis(NOW + 900_000))), "never later than it was");
    assert!(is_admitted(&admit(&mut redis, &call("c", "x", 35_000))));
    assert!(give_up(&mut redis, "c", Release::Forget));
    assert_eq!(stored(&mut redis).0, None);
}

#[tokio::test]
async fn a_call_that_redis_runs_too_late_claims_nothing() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let late = Call { call_by: Millis(NOW), ..call("a", "x", 1) };
    assert_eq!(admit(&mut redis, &late), Verdict::TooLate);
    assert_eq!(stored(&mut redis), (None, None));
    assert!(is_admitted(&admit(&mut redis, &Call { call_by: Millis(NOW + 1), ..call("a", "x", 1) })));
}

#[tokio::test]
async fn an_answer_too_large_to_keep_leaves_a_tombstone() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    admit(&mut redis, &call("a", "x", 0));
    assert!(finish(&mut redis, "a", None));
    assert_eq!(admit(&mut redis, &call("b", "x", 0)), Verdict::Tombstone);
}

#[tokio::test(flavor = "multi_thread")]
async fn r_truxify_2387_of_many_at_the_same_instant_one_runs() {
    let stack = redis_only().await;
    let url = stack.redis_url();
    let contenders = (0..32).map(|i| {
        let url = url.clone();
        tokio::task::spawn_blocking(move || {
            let mut redis = redis::Client::open(url).unwrap().get_connection().unwrap();
            let call = Call { now: Micros(0), ..call(&i.to_string(), "x", 0) };
            is_admitted(&admit(&mut redis, &call))
        })
    });
    let mut admitted = 0;
    for contender in contenders.collect::<Vec<_>>() {
        admitted += usize::from(contender.await.unwrap());
    }
    assert_eq!(admitted, 1);
}
