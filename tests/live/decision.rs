//! The whole of `lua/admit.lua` and its pure specification agree on random histories of one operation: claims,
//! take-overs, completions, releases, a sale that opens and sells out, and buckets that run dry.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use redis::Connection;
use sluice::admit::claim::Claim;
use sluice::admit::decide::{Ask, Held, decide};
use sluice::admit::{Charge, Snapshot, Verdict};
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::script::admit::{Call, Claiming, Sale};
use sluice::script::release::Release;
use sluice::script::{complete, release};

use crate::support::{admit, connect, eval, redis_only};

const START: u64 = 1_800_000_000_000;
const LEASE: u64 = 30_000;

#[derive(Clone, Debug)]
enum Step {
    Admit { owner: u8, body: u8, sale: u8, else_refuse: bool, late: bool },
    Complete { owner: u8, kept: bool },
    Release { owner: u8, not_after: Option<u64> },
    Sale { paused: bool, stock: Option<u8>, starts_in: i64, ends_in: i64 },
    NoSale,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let yes = any::<bool>;
    let step = prop_oneof![
        12 => (0u8..3, 0u8..2, 0u8..3, proptest::bool::weighted(0.2), proptest::bool::weighted(0.1))
            .prop_map(|(owner, body, sale, else_refuse, late)| Step::Admit { owner, body, sale, else_refuse, late }),
        2 => (0u8..3, yes()).prop_map(|(owner, kept)| Step::Complete { owner, kept }),
        3 => (0u8..3, proptest::option::of(0u64..40_000)).prop_map(|(owner, not_after)| Step::Release { owner, not_after }),
        3 => (yes(), proptest::option::of(0u8..3), -50_000i64..20_000, -5_000i64..90_000)
            .prop_map(|(paused, stock, starts_in, ends_in)| Step::Sale { paused, stock, starts_in, ends_in }),
        1 => Just(Step::NoSale),
    ];
    (prop_oneof![Just(0u64), 0u64..5_000, 0u64..60_000], step)
}

fn tag(kind: &str, n: u8) -> Tag {
    Tag::of(&[kind.as_bytes(), &[n]])
}

/// One history's keys, and the model of what is under them.
struct World<'r> {
    redis: &'r mut Connection,
    keys: [String; 4],
    held: bool,
    now: u64,
    claim: Option<Claim>,
    sale: Option<Snapshot>,
    bucket: Micros,
}

impl World<'_> {
    fn charge() -> Charge {
        Charge { quota: Quota::parse(6, "1/10m").unwrap(), cost: Cost(1) }
    }

    fn owns(&self, owner: &Tag) -> bool {
        matches!(&self.claim, Some(Claim::InFlight { owner: o, .. }) if o == owner.as_str())
    }

    fn play(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Admit { owner, body, sale, else_refuse, late } => {
                let call = self.call(*owner, *body, *sale, *else_refuse, *late);
                let verdict = admit(self.redis, &call);
                prop_assert_eq!(verdict, self.expected(&call));
            }
            Step::Complete { owner, kept } => {
                let (owner, answer) = (tag("owner", *owner), kept.then_some("202\n\nt{}"));
                let args = complete::args(&owner, answer);
                let reply = eval(self.redis, &complete::SCRIPT, &self.keys[..1], &args);
                prop_assert_eq!(complete::parse(&reply), Ok(self.owns(&owner)));
                if self.owns(&owner) {
                    let Some(Claim::InFlight { fingerprint, .. }) = self.claim.take() else { unreachable!() };
                    self.claim = Some(Claim::Done { fingerprint, answer: answer.map(str::to_owned) });
                }
            }
            Step::Release { owner, not_after } => {
                let owner = tag("owner", *owner);
                let instant = not_after.map(|ms| Millis(self.now + ms));
                let how = instant.map_or(Release::Forget, Release::NotBefore);
                let reply = eval(self.redis, &release::SCRIPT, &self.keys[..1], &release::args(&owner, how));
                prop_assert_eq!(release::parse(&reply), Ok(self.owns(&owner)));
                if self.owns(&owner) {
                    match (instant, &mut self.claim) {
                        (Some(instant), Some(Claim::InFlight { deadline, .. })) => *deadline = instant.min(*deadline),
                        (_, claim) => *claim = None,
                    }
                }
            }
            Step::Sale { paused, stock, starts_in, ends_in } => {
                let at = |ms: i64| Millis(self.now.saturating_add_signed(ms));
                let (starts_at, ends_at) = (at(*starts_in), at(*ends_in));
                let mut pipe = redis::pipe();
                pipe.hset_multiple(
                    &self.keys[1],
                    &[("starts_at", starts_at.0), ("ends_at", ends_at.0), ("paused", (*paused).into())],
                );
                match stock {
                    Some(stock) => pipe.set(&self.keys[2], *stock),
                    None => pipe.del(&self.keys[2]),
                };
                let () = pipe.query(self.redis).unwrap();
                let stock = stock.map(u64::from);
                self.sale = Some(Snapshot { at: Millis(0), starts_at, ends_at, paused: *paused, stock, price: 0 });
            }
            Step::NoSale => {
                let () = redis::cmd("DEL").arg(&self.keys[1]).arg(&self.keys[2]).query(self.redis).unwrap();
                self.sale = None;
            }
        }
        Ok(())
    }

    fn call(&self, owner: u8, body: u8, sale: u8, else_refuse: bool, late: bool) -> Call {
        Call {
            claiming: Some(Claiming {
                key: self.keys[0].clone(),
                owner: tag("owner", owner),
                fingerprint: tag("body", body),
                op_id: tag("op", 0),
                lease: Millis(LEASE),
                retention: Millis(86_400_000),
                held: self.held,
            }),
            sale: (sale > 0).then(|| Sale { keys: [self.keys[1].clone(), self.keys[2].clone()], refuses: sale == 1 }),
            else_refuse,
            buckets: vec![(self.keys[3].clone(), Self::charge())],
            call_by: Millis(if late { self.now - 1 } else { 0 }),
            now: Millis(self.now).micros(),
        }
    }

    /// What the specification says, applied to the model.
    fn expected(&mut self, call: &Call) -> Verdict {
        let claiming = call.claiming.as_ref().unwrap();
        let (owner, fingerprint) = (claiming.owner.to_string(), claiming.fingerprint.to_string());
        let ask = Ask {
            operation: Some((&owner, &fingerprint)),
            else_refuse: call.else_refuse,
            sale_refuses: call.sale.as_ref().is_some_and(|sale| sale.refuses),
            charges: &[Self::charge()],
            call_by: call.call_by,
        };
        let held = Held {
            claim: self.claim.as_ref(),
            sale: self.sale.filter(|_| call.sale.is_some()),
            buckets: &[self.bucket],
        };
        let mut decision = decide(ask, held, call.now);
        if let Verdict::Admitted { taken_over: Some(op_id), .. } = &mut decision.verdict {
            *op_id = tag("op", 0).to_string();
        }
        if let (Verdict::Admitted { levels, .. } | Verdict::Mismatch { levels }, true) =
            (&decision.verdict, decision.charges)
        {
            self.bucket = Micros(call.now.0 + levels[0].0.0);
        }
        if decision.claims {
            let deadline = Millis(self.now + LEASE);
            self.claim = Some(Claim::InFlight { owner, fingerprint, deadline, held: self.held });
        }
        decision.verdict
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_and_its_specification_agree_on_random_histories_of_an_operation() {
    let stack = redis_only().await;
    let redis = std::cell::RefCell::new(connect(&stack));
    let cases = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    let history = (any::<bool>(), proptest::collection::vec(step(), 40..80));
    let outcome = runner.run(&history, |(held, history)| {
        cases.set(cases.get() + 1);
        let key = |kind: &str| format!("sl1:{{p0}}:{kind}:{}", cases.get());
        let mut redis = redis.borrow_mut();
        let mut world = World {
            redis: &mut redis,
            keys: [key("claim"), key("sale"), key("stock"), key("b")],
            held,
            now: START,
            claim: None,
            sale: None,
            bucket: Micros(0),
        };
        for (passed, step) in &history {
            world.now += passed;
            world.play(step)?;
        }
        Ok(())
    });
    outcome.unwrap();
}
