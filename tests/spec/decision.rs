//! The executable specification of `lua/admit.lua` itself: the order of its checks, and what each verdict writes.
//! `tests/live/decision.rs` holds the script to it.

use sluice::admit::claim::Claim;
use sluice::admit::decide::{Ask, Decision, Held, TokenKey, decide};
use sluice::admit::{Charge, Level, Shut, Snapshot, Verdict};
use sluice::model::{Cost, Micros, Millis, Quota};

const NOW: Micros = Micros(1_000_000_000);
const NOW_MS: Millis = Millis(1_000_000);
const SECOND: u64 = 1_000_000;

/// One unit of a bucket of two, one a second.
fn one() -> Charge {
    Charge { quota: Quota::parse(2, "1/s").unwrap(), cost: Cost(1) }
}

const ASK: Ask<'static> = Ask {
    operation: Some(("me", "print")),
    else_refuse: false,
    sale_refuses: true,
    token: false,
    charges: &[],
    shadow: 0,
    call_by: Millis(0),
};

const NOTHING: Held<'static> = Held { claim: None, sale: None, token: false, revoked: false, buckets: &[] };

fn sale() -> Snapshot {
    let (starts_at, ends_at) = (Millis(0), Millis(u64::MAX));
    Snapshot { at: NOW_MS, starts_at, ends_at, paused: false, stock: Some(1), price: 1 }
}

fn closed() -> Option<Snapshot> {
    Some(Snapshot { paused: true, ..sale() })
}

fn in_flight(owner: &str, deadline: Millis) -> Claim {
    Claim::InFlight { owner: owner.into(), fingerprint: "print".into(), deadline, held: false }
}

fn admitted(levels: &[u64]) -> Verdict {
    Verdict::Admitted { taken_over: None, levels: levels.iter().map(|us| Level(Micros(*us))).collect() }
}

/// It refuses and writes nothing.
#[track_caller]
fn is_refused(decision: &Decision, verdict: Verdict) {
    let nothing = Decision { verdict, would_refuse: vec![], charges: false, claims: false, token: TokenKey::Stays };
    assert_eq!(*decision, nothing);
}

#[test]
fn a_call_that_comes_too_late_claims_nothing_and_one_without_a_bound_is_never_late() {
    let late = |call_by| decide(Ask { call_by, ..ASK }, NOTHING, NOW);
    is_refused(&late(Millis(NOW_MS.0 - 1)), Verdict::TooLate);
    is_refused(&late(Millis(1)), Verdict::TooLate);
    for call_by in [NOW_MS, Millis(NOW_MS.0 + 1), Millis(0)] {
        assert_eq!(late(call_by).verdict, admitted(&[]), "{call_by:?}");
    }
    // Within the last millisecond it is not late: Redis' time counts in whole ones.
    let last = decide(Ask { call_by: NOW_MS, ..ASK }, NOTHING, Micros(NOW.0 + 999));
    assert_eq!(last.verdict, admitted(&[]));
}

#[test]
fn too_late_comes_before_revoked_and_revoked_before_any_answer() {
    let done = Claim::Done { fingerprint: "print".into(), answer: Some("a".into()) };
    let held = Held { revoked: true, claim: Some(&done), ..NOTHING };
    is_refused(&decide(ASK, held, NOW), Verdict::Revoked);
    is_refused(&decide(Ask { call_by: Millis(1), ..ASK }, held, NOW), Verdict::TooLate);
}

#[test]
fn an_operation_that_was_met_before_is_told_its_own_outcome_whatever_the_caller_or_the_sale_say() {
    let asks = Ask { else_refuse: true, token: true, ..ASK };
    let with = |claim: &Claim| decide(asks, Held { claim: Some(claim), sale: closed(), ..NOTHING }, NOW);
    let later = Millis(NOW_MS.0 + 5);
    is_refused(&with(&in_flight("you", later)), Verdict::InFlight { deadline: later });
    let done = |answer| Claim::Done { fingerprint: "print".into(), answer };
    is_refused(&with(&done(Some("a".into()))), Verdict::Replay { answer: "a".into() });
    is_refused(&with(&done(None)), Verdict::Tombstone);
    let held = Claim::InFlight { owner: "you".into(), fingerprint: "print".into(), deadline: Millis(1), held: true };
    is_refused(&with(&held), Verdict::OutcomeUnknown);
    is_refused(&with(&in_flight("me", later)), admitted(&[]));
    let over = with(&in_flight("you", Millis(1)));
    assert_eq!(over.verdict, Verdict::Admitted { taken_over: Some(String::new()), levels: vec![] });
    assert_eq!((over.charges, over.claims, over.token), (true, true, TokenKey::Stays), "the token was consumed before");
}

#[test]
fn only_a_new_operation_gets_the_refusal_that_the_caller_brought() {
    is_refused(&decide(Ask { else_refuse: true, ..ASK }, NOTHING, NOW), Verdict::ElseRefused);
    assert_eq!(decide(ASK, NOTHING, NOW).verdict, admitted(&[]));
    let reads = Ask { operation: None, else_refuse: true, ..ASK };
    assert_eq!(decide(reads, NOTHING, NOW).verdict, admitted(&[]), "what is no operation has no outcome to look for");
}

#[test]
fn a_shut_sale_refuses_what_is_new_where_the_call_says_so() {
    let shut = Held { sale: closed(), ..NOTHING };
    is_refused(&decide(ASK, shut, NOW), Verdict::Shut(Shut::Paused));
    assert_eq!(decide(Ask { sale_refuses: false, ..ASK }, shut, NOW).verdict, admitted(&[]));
    assert_eq!(decide(ASK, Held { sale: Some(sale()), ..NOTHING }, NOW).verdict, admitted(&[]));
    let reads = Ask { operation: None, ..ASK };
    is_refused(&decide(reads, shut, NOW), Verdict::Shut(Shut::Paused));
    is_refused(&decide(ASK, Held { claim: Some(&Claim::Released), ..shut }, NOW), Verdict::Shut(Shut::Paused));
}

#[test]
fn a_stored_token_is_used_once_by_a_new_operation_and_stands_for_nothing_else() {
    let asks = Ask { token: true, ..ASK };
    is_refused(&decide(asks, NOTHING, NOW), Verdict::TokenUsed);
    let there = Held { token: true, ..NOTHING };
    let first = decide(asks, there, NOW);
    assert_eq!((first.verdict, first.claims, first.token), (admitted(&[]), true, TokenKey::Consumed));
    // A claim that was given up after it had consumed the token stands in for it, and leaves another one alone.
    for held in [NOTHING, there] {
        let again = decide(asks, Held { claim: Some(&Claim::Released), ..held }, NOW);
        assert_eq!((again.verdict, again.claims, again.token), (admitted(&[]), true, TokenKey::Stays));
    }
    let none = decide(ASK, there, NOW);
    assert_eq!((none.claims, none.token), (true, TokenKey::Stays));
}

#[test]
fn a_token_is_issued_only_by_what_is_no_operation_and_passes_its_limits() {
    let issues = Ask { operation: None, token: true, ..ASK };
    let issued = decide(issues, NOTHING, NOW);
    assert_eq!((issued.claims, issued.token), (false, TokenKey::Issued));
    let charges = [one()];
    let empty = [Micros(NOW.0 + 2 * SECOND)];
    let limited = decide(Ask { charges: &charges, ..issues }, Held { buckets: &empty, ..NOTHING }, NOW);
    is_refused(&limited, Verdict::Limited { levels: vec![Level(Micros(2 * SECOND))] });
}

#[test]
fn other_contents_under_the_same_key_are_charged_and_claim_nothing() {
    let (charges, claim) = ([one()], in_flight("you", Millis(u64::MAX)));
    let ask = Ask { operation: Some(("me", "other")), charges: &charges, ..ASK };
    let mismatch = decide(ask, Held { claim: Some(&claim), buckets: &[Micros(0)], ..NOTHING }, NOW);
    assert_eq!(mismatch.verdict, Verdict::Mismatch { levels: vec![Level(Micros(SECOND))] });
    assert_eq!((mismatch.charges, mismatch.claims), (true, false));
    let empty = [Micros(NOW.0 + 2 * SECOND)];
    let limited = decide(ask, Held { claim: Some(&claim), buckets: &empty, ..NOTHING }, NOW);
    is_refused(&limited, Verdict::Limited { levels: vec![Level(Micros(2 * SECOND))] });
}

#[test]
fn an_own_claim_seen_again_is_told_its_levels_and_charged_nothing() {
    let (charges, claim) = ([one()], in_flight("me", Millis(u64::MAX)));
    let held = Held { claim: Some(&claim), buckets: &[Micros(NOW.0 + 5)], ..NOTHING };
    is_refused(&decide(Ask { charges: &charges, ..ASK }, held, NOW), admitted(&[5]));
}

#[test]
fn limits_are_all_or_nothing_and_those_in_shadow_are_told_beside_them() {
    let charges = [one(), one(), one()];
    let (fresh, empty) = (Micros(0), Micros(NOW.0 + 2 * SECOND));
    let with =
        |shadow, buckets: &[Micros]| decide(Ask { charges: &charges, shadow, ..ASK }, Held { buckets, ..NOTHING }, NOW);
    let passes = with(1, &[fresh, fresh, empty]);
    assert_eq!(passes.verdict, admitted(&[SECOND, SECOND, 2 * SECOND]));
    assert_eq!((passes.would_refuse, passes.charges, passes.claims), (vec![2], true, true));

    let refused = with(1, &[empty, fresh, empty]);
    let levels = [2 * SECOND, 0, 2 * SECOND].map(|us| Level(Micros(us))).to_vec();
    assert_eq!(refused.verdict, Verdict::Limited { levels });
    assert_eq!((refused.would_refuse, refused.charges, refused.claims), (vec![2], false, false));

    let enforced = with(0, &[fresh, fresh, empty]);
    assert!(matches!(enforced.verdict, Verdict::Limited { .. }) && enforced.would_refuse.is_empty());
    let all_dark = with(3, &[empty, fresh, empty]);
    assert_eq!((all_dark.would_refuse, all_dark.charges), (vec![0, 2], true));
}
