//! One order sent 200 times at the same moment.

use std::collections::HashSet;

use xtask::stack::Sale;

use crate::http::{Answer, Call};
use crate::shop::{Shop, order_id};

const AT_ONCE: usize = 200;
/// How often the race is run until none of its answers is late.
const RACES: usize = 10;

async fn all_at_once(call: &Call) -> Vec<Answer> {
    let sent: Vec<_> = (0..AT_ONCE).map(|_| tokio::spawn(call.clone().send())).collect();
    let mut answers = Vec::new();
    for answer in sent {
        answers.push(answer.await.unwrap());
    }
    answers
}

/// Checks one race. None when the machine was too busy to answer all within the deadline for Redis.
fn winners(answers: &[Answer]) -> Option<HashSet<&[u8]>> {
    let (mut first, mut late, mut accepted) = (0, 0, HashSet::new());
    for answer in answers {
        match (answer.status, answer.code().as_str()) {
            (202, _) => {
                first += usize::from(answer.header("idempotency-replayed").is_none());
                accepted.insert(answer.body.as_slice());
            }
            (409, "in_progress") => assert_eq!(answer.retry_after(), 1),
            (503, "degraded") => late += 1,
            _ => panic!("{answer:?}: {}", answer.text()),
        }
    }
    assert!(first <= 1 && accepted.len() <= 1, "one answer, and replays of it: {accepted:?}");
    if late == 0 {
        assert_eq!(first, 1, "one of them is the first");
    }
    (late == 0).then_some(accepted)
}

#[tokio::test(flavor = "multi_thread")]
async fn r_mastodon_37879_of_200_identical_submissions_at_once_exactly_one_becomes_an_order() {
    let shop = Shop::open(&[Sale::new("demo", 100)]).await;
    let mut clean = false;
    let mut orders = 0;
    while !clean {
        orders += 1;
        assert!(orders <= RACES, "no race of {RACES} was free of late answers");
        let user = format!("user-{orders}");
        let call = shop.order(&user, "demo").ip(&format!("10.0.0.{orders}"));
        let answers = all_at_once(&call).await;
        let accepted = winners(&answers);
        let again = call.settled().await;
        let id = order_id(&again);
        if let Some(accepted) = accepted {
            clean = true;
            assert_eq!(accepted, HashSet::from([again.body.as_slice()]));
        }
        let rows = shop.settled(orders).await;
        assert_eq!(rows.iter().filter(|row| row.user_id == user).map(|row| &row.id).collect::<Vec<_>>(), [&id]);
    }
    assert_eq!(shop.stock("demo").await, 100 - i64::try_from(orders).unwrap());
}
