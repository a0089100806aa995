//! The claim of an operation in real Redis: admit, complete and release, and what each leaves behind.

use sluice::admit::{Charge, Verdict};
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::script::admit::{Call, Claiming, Sale, StoredToken};
use sluice::script::release::Release;
use sluice::script::{complete, release};

use crate::mode::Redis;
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
        now: Millis(NOW + ms).micros(),
        ..Call::default()
    }
}

fn held(mut call: Call) -> Call {
    if let Some(claiming) = &mut call.claiming {
        claiming.held = true;
    }
    call
}

/// Everything that is stored, to show that a refusal changes nothing.
fn stored(redis: &mut Redis) -> (Option<String>, Option<String>) {
    redis::cmd("MGET").arg(KEY).arg(BUCKET).query(redis).unwrap()
}

fn finish(redis: &mut Redis, owner: &str, answer: Option<&str>) -> bool {
    let reply = eval(redis, &complete::SCRIPT, &[KEY.to_owned()], &complete::args(&tag(owner), answer));
    complete::parse(&reply).unwrap()
}

fn give_up(redis: &mut Redis, owner: &str, how: Release) -> bool {
    let reply = eval(redis, &release::SCRIPT, &[KEY.to_owned()], &release::args(&tag(owner), how));
    release::parse(&reply).unwrap()
}

fn is_admitted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Admitted { .. })
}

#[tokio::test]
async fn r_idempot_js_182_an_operation_is_claimed_once_answered_once_and_replayed() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    assert!(is_admitted(&admit(&mut redis, &call("a", "x", 0))));
    let before = stored(&mut redis);
    assert_eq!(admit(&mut redis, &call("b", "x", 1)), Verdict::InFlight { deadline: Millis(NOW + 30_000) });
    assert_eq!(stored(&mut redis), before, "the second changes nothing and is not charged");
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
    let contenders = (0..32).map(|i| {
        let mut redis = connect(&stack);
        tokio::task::spawn_blocking(move || {
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

const TOKEN: &str = "sl1:{p0}:token:t";
/// When the token ends. Keys live by Redis' own clock, so it lies beyond that.
const ENDS: u64 = NOW + 600_000;

/// The same call where tokens are stored.
fn with_token(call: Call) -> Call {
    Call { token: Some(StoredToken { key: TOKEN.to_owned(), time: Millis(ENDS) }), ..call }
}

fn issue(redis: &mut Redis) {
    let token = Some(StoredToken { key: TOKEN.to_owned(), time: Millis(600_000) });
    let call = Call { token, now: Millis(NOW).micros(), ..Call::default() };
    assert!(is_admitted(&admit(redis, &call)));
}

fn has_token(redis: &mut Redis) -> bool {
    redis::cmd("EXISTS").arg(TOKEN).query(redis).unwrap()
}

#[tokio::test]
async fn a_stored_token_is_consumed_by_the_claim_and_by_nothing_else() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    assert_eq!(admit(&mut redis, &with_token(call("a", "x", 0))), Verdict::TokenUsed);
    assert_eq!(stored(&mut redis), (None, None), "a refusal changes nothing");
    issue(&mut redis);
    let refused = Call { else_refuse: true, ..with_token(call("a", "x", 0)) };
    assert_eq!(admit(&mut redis, &refused), Verdict::ElseRefused);
    let dry = Charge { quota: Quota::parse(1, "1/h").unwrap(), cost: Cost(2) };
    let limited = Call { buckets: vec![(BUCKET.to_owned(), dry)], ..with_token(call("a", "x", 0)) };
    assert!(matches!(admit(&mut redis, &limited), Verdict::Limited { .. }));
    assert!(has_token(&mut redis), "what was refused may come again with the same token");

    assert!(is_admitted(&admit(&mut redis, &with_token(call("a", "x", 0)))));
    assert!(!has_token(&mut redis));
    assert!(is_admitted(&admit(&mut redis, &with_token(call("a", "x", 0)))), "its own call, run twice");
    assert!(matches!(admit(&mut redis, &with_token(call("b", "x", 1))), Verdict::InFlight { .. }));
    assert!(is_admitted(&admit(&mut redis, &with_token(call("b", "x", 30_000)))), "a lapsed claim stands in for it");
    assert!(finish(&mut redis, "b", Some("202\n\nt")));
    assert_eq!(admit(&mut redis, &with_token(call("c", "x", 0))), Verdict::Replay { answer: "202\n\nt".into() });
}

#[tokio::test]
async fn a_claim_that_is_given_up_stands_in_for_its_stored_token_until_that_ends() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    issue(&mut redis);
    assert!(is_admitted(&admit(&mut redis, &with_token(call("a", "x", 0)))));
    assert!(give_up(&mut redis, "a", Release::Forget));
    assert!(!give_up(&mut redis, "a", Release::Forget), "once");
    let ends: u64 = redis::cmd("PEXPIRETIME").arg(KEY).query(&mut redis).unwrap();
    assert_eq!(ends, ENDS);
    let refused = Call { else_refuse: true, ..with_token(call("b", "x", 1)) };
    assert_eq!(admit(&mut redis, &refused), Verdict::ElseRefused, "it has no outcome");
    assert!(is_admitted(&admit(&mut redis, &with_token(call("b", "y", 1)))), "with any body: nothing was begun");
    assert!(matches!(admit(&mut redis, &with_token(call("c", "y", 2))), Verdict::InFlight { .. }));
}

#[tokio::test]
async fn a_claim_outlives_its_lease_for_as_long_as_the_token_that_it_consumed() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    issue(&mut redis);
    admit(&mut redis, &with_token(call("a", "x", 0)));
    let left = ttls(&mut redis).into_iter().find(|(key, _)| key == KEY).unwrap().1;
    assert!((590_000..=600_000).contains(&left), "{left}");
}

#[tokio::test]
async fn a_token_is_kept_from_the_start_of_its_sale_on() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let sale = ["sl1:{p0}:sale:demo".to_owned(), "sl1:{p0}:stock:demo".to_owned()];
    let terms = [("starts_at", NOW + 3_600_000), ("ends_at", NOW + 7_200_000), ("paused", 0)];
    let () = redis::pipe().hset_multiple(&sale[0], &terms).set(&sale[1], 5).query(&mut redis).unwrap();
    let call = Call {
        token: Some(StoredToken { key: TOKEN.to_owned(), time: Millis(600_000) }),
        sale: Some(Sale { keys: sale, refuses: false }),
        now: Millis(NOW).micros(),
        ..Call::default()
    };
    assert!(is_admitted(&admit(&mut redis, &call)));
    let left = ttls(&mut redis).into_iter().find(|(key, _)| key == TOKEN).unwrap().1;
    assert!((4_190_000..=4_200_000).contains(&left), "{left}");
}

#[tokio::test]
async fn a_revoked_user_is_refused_before_anything_else_is_told() {
    let stack = redis_only().await;
    let mut redis = connect(&stack);
    let mark = "sl1:{p0}:revoked:j";
    let revocable = |owner| Call { revoked: Some(mark.to_owned()), ..call(owner, "x", 0) };
    assert!(is_admitted(&admit(&mut redis, &revocable("a"))));
    redis::cmd("SET").arg(mark).arg(1).arg("EX").arg(60).exec(&mut redis).unwrap();
    let before = stored(&mut redis);
    assert_eq!(admit(&mut redis, &revocable("b")), Verdict::Revoked);
    assert_eq!(stored(&mut redis), before);
}
