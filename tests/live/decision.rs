//! The whole of `lua/admit.lua` and its pure specification agree on random histories of one operation: claims,
//! take-overs, completions, releases, stored tokens, revoked users, a sale that opens and sells out, and buckets that
//! run dry, one of them in shadow.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluice::admit::claim::Claim;
use sluice::admit::decide::{Ask, Decision, Held, TokenKey, decide};
use sluice::admit::{Charge, Snapshot, Verdict};
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, Quota};
use sluice::script::admit::{Call, Claiming, Reply, Sale, StoredToken};
use sluice::script::release::Release;
use sluice::script::{complete, release};

use crate::mode::Redis;
use crate::support::{connect, eval, redis_only, reply};

const START: u64 = 1_800_000_000_000;
const LEASE: u64 = 30_000;
/// Longer than any history: tokens that end are another test's.
const TOKEN_ENDS: u64 = START + 86_400_000;

/// Places of the keys of one history.
const CLAIM: usize = 0;
const SALE: usize = 1;
const STOCK: usize = 2;
const TOKEN: usize = 3;
const REVOKED: usize = 4;
const BUCKETS: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Admit {
        owner: u8,
        body: u8,
        sale: u8,
        else_refuse: bool,
        late: bool,
    },
    /// A request that is no operation; where tokens are stored it is issued one.
    Plain {
        sale: bool,
    },
    Revoke(bool),
    Complete {
        owner: u8,
        kept: bool,
    },
    Release {
        owner: u8,
        not_after: Option<u64>,
    },
    Sale {
        paused: bool,
        stock: Option<u8>,
        starts_in: i64,
        ends_in: i64,
    },
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
        2 => yes().prop_map(|sale| Step::Plain { sale }),
        1 => proptest::bool::weighted(0.3).prop_map(Step::Revoke),
    ];
    (prop_oneof![Just(0u64), 0u64..5_000, 0u64..60_000], step)
}

fn tag(kind: &str, n: u8) -> Tag {
    Tag::of(&[kind.as_bytes(), &[n]])
}

/// One history's keys, and the model of what is under them.
struct World<'r> {
    redis: &'r mut Redis,
    keys: [String; 7],
    held: bool,
    /// Tokens are stored.
    stored: bool,
    now: u64,
    claim: Option<Claim>,
    sale: Option<Snapshot>,
    token: bool,
    revoked: bool,
    buckets: [Micros; 2],
}

impl World<'_> {
    /// Of the enforced bucket, and of the one in shadow.
    fn charges() -> [Charge; 2] {
        [(6, "1/10m", 1), (5, "1/12m", 2)]
            .map(|(burst, rate, cost)| Charge { quota: Quota::parse(burst, rate).unwrap(), cost: Cost(cost) })
    }

    fn owns(&self, owner: &Tag) -> bool {
        matches!(&self.claim, Some(Claim::InFlight { owner: o, .. }) if o == owner.as_str())
    }

    fn play(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Admit { owner, body, sale, else_refuse, late } => {
                let call = self.call(*owner, *body, *sale, *else_refuse, *late);
                self.agree(&call)?;
            }
            Step::Plain { sale } => {
                let token = StoredToken { key: self.keys[TOKEN].clone(), time: Millis(600_000) };
                let sale = sale.then(|| Sale { keys: self.keys_of_sale(), refuses: false });
                let call = Call { token: self.stored.then_some(token), sale, ..self.asked() };
                self.agree(&call)?;
            }
            Step::Revoke(revoked) => {
                let mut pipe = redis::pipe();
                match revoked {
                    true => pipe.set(&self.keys[REVOKED], 1),
                    false => pipe.del(&self.keys[REVOKED]),
                };
                let () = pipe.query(self.redis).unwrap();
                self.revoked = *revoked;
            }
            Step::Complete { owner, kept } => {
                let (owner, answer) = (tag("owner", *owner), kept.then_some("202\n\nt{}"));
                let args = complete::args(&owner, answer);
                let reply = eval(self.redis, &complete::SCRIPT, &self.keys[..=CLAIM], &args);
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
                let reply = eval(self.redis, &release::SCRIPT, &self.keys[..=CLAIM], &release::args(&owner, how));
                prop_assert_eq!(release::parse(&reply), Ok(self.owns(&owner)));
                if self.owns(&owner) {
                    match (instant, &mut self.claim) {
                        (Some(instant), Some(Claim::InFlight { deadline, .. })) => *deadline = instant.min(*deadline),
                        (_, claim) => *claim = self.stored.then_some(Claim::Released),
                    }
                }
            }
            Step::Sale { paused, stock, starts_in, ends_in } => {
                let at = |ms: i64| Millis(self.now.saturating_add_signed(ms));
                let (starts_at, ends_at) = (at(*starts_in), at(*ends_in));
                let mut pipe = redis::pipe();
                pipe.hset_multiple(
                    &self.keys[SALE],
                    &[("starts_at", starts_at.0), ("ends_at", ends_at.0), ("paused", (*paused).into())],
                );
                match stock {
                    Some(stock) => pipe.set(&self.keys[STOCK], *stock),
                    None => pipe.del(&self.keys[STOCK]),
                };
                let () = pipe.query(self.redis).unwrap();
                let stock = stock.map(u64::from);
                self.sale = Some(Snapshot { at: Millis(0), starts_at, ends_at, paused: *paused, stock, price: 0 });
            }
            Step::NoSale => {
                let () = redis::cmd("DEL").arg(&self.keys[SALE]).arg(&self.keys[STOCK]).query(self.redis).unwrap();
                self.sale = None;
            }
        }
        Ok(())
    }

    fn keys_of_sale(&self) -> [String; 2] {
        [self.keys[SALE].clone(), self.keys[STOCK].clone()]
    }

    /// What every call asks: buckets, and whether the user is revoked.
    fn asked(&self) -> Call {
        let keys = self.keys[BUCKETS..].iter().cloned();
        Call {
            buckets: keys.zip(Self::charges()).collect(),
            shadow: 1,
            revoked: Some(self.keys[REVOKED].clone()),
            now: Millis(self.now).micros(),
            ..Call::default()
        }
    }

    fn call(&self, owner: u8, body: u8, sale: u8, else_refuse: bool, late: bool) -> Call {
        let token = StoredToken { key: self.keys[TOKEN].clone(), time: Millis(TOKEN_ENDS) };
        Call {
            claiming: Some(Claiming {
                key: self.keys[CLAIM].clone(),
                owner: tag("owner", owner),
                fingerprint: tag("body", body),
                op_id: tag("op", 0),
                lease: Millis(LEASE),
                retention: Millis(86_400_000),
                held: self.held,
            }),
            token: self.stored.then_some(token),
            sale: (sale > 0).then(|| Sale { keys: self.keys_of_sale(), refuses: sale == 1 }),
            else_refuse,
            call_by: Millis(if late { self.now - 1 } else { 0 }),
            ..self.asked()
        }
    }

    /// Plays one call in Redis and in the model, and compares the replies and all that is stored afterwards.
    fn agree(&mut self, call: &Call) -> Result<(), TestCaseError> {
        let Reply { verdict, would_refuse, .. } = reply(self.redis, call);
        let expected = self.expected(call);
        prop_assert_eq!(verdict, expected.verdict);
        prop_assert_eq!(would_refuse, expected.would_refuse);
        let stored: Vec<Option<u64>> = redis::cmd("MGET").arg(&self.keys[BUCKETS..]).query(self.redis).unwrap();
        let model = self.buckets.map(|tat| tat.0);
        prop_assert_eq!(stored.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>(), model);
        let exists = |world: &mut Self, key: usize| -> bool {
            redis::cmd("EXISTS").arg(&world.keys[key]).query(world.redis).unwrap()
        };
        prop_assert_eq!(exists(self, TOKEN), self.token);
        prop_assert_eq!(exists(self, CLAIM), self.claim.is_some());
        Ok(())
    }

    /// What the specification says, applied to the model.
    fn expected(&mut self, call: &Call) -> Decision {
        let claiming = call.claiming.as_ref();
        let operation = claiming.map(|c| (c.owner.to_string(), c.fingerprint.to_string()));
        let ask = Ask {
            operation: operation.as_ref().map(|(owner, fingerprint)| (owner.as_str(), fingerprint.as_str())),
            else_refuse: call.else_refuse,
            sale_refuses: call.sale.as_ref().is_some_and(|sale| sale.refuses),
            token: call.token.is_some(),
            charges: &Self::charges(),
            shadow: call.shadow,
            call_by: call.call_by,
        };
        let held = Held {
            claim: self.claim.as_ref().filter(|_| claiming.is_some()),
            sale: self.sale.filter(|_| call.sale.is_some()),
            token: self.token,
            revoked: self.revoked,
            buckets: &self.buckets,
        };
        let mut decision = decide(ask, held, call.now);
        if let Verdict::Admitted { taken_over: Some(op_id), .. } = &mut decision.verdict {
            *op_id = tag("op", 0).to_string();
        }
        if let (Verdict::Admitted { levels, .. } | Verdict::Mismatch { levels }, true) =
            (&decision.verdict, decision.charges)
        {
            for at in (0..levels.len()).filter(|at| !decision.would_refuse.contains(at)) {
                self.buckets[at] = Micros(call.now.0 + levels[at].0.0);
            }
        }
        if decision.claims {
            let (owner, fingerprint) = operation.unwrap();
            let deadline = Millis(self.now + LEASE);
            self.claim = Some(Claim::InFlight { owner, fingerprint, deadline, held: self.held });
        }
        match decision.token {
            TokenKey::Stays => {}
            TokenKey::Consumed => self.token = false,
            TokenKey::Issued => self.token = true,
        }
        decision
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_and_its_specification_agree_on_random_histories_of_an_operation() {
    let stack = redis_only().await;
    let redis = std::cell::RefCell::new(connect(&stack));
    let cases = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    let history = (any::<bool>(), any::<bool>(), proptest::collection::vec(step(), 40..80));
    let outcome = runner.run(&history, |(held, stored, history)| {
        cases.set(cases.get() + 1);
        let key = |kind: &str| format!("sl1:{{p0}}:{kind}:{}", cases.get());
        let mut redis = redis.borrow_mut();
        let mut world = World {
            redis: &mut redis,
            keys: ["claim", "sale", "stock", "token", "revoked", "b", "dark"].map(key),
            held,
            stored,
            now: START,
            claim: None,
            sale: None,
            token: false,
            revoked: false,
            buckets: [Micros(0); 2],
        };
        for (passed, step) in &history {
            world.now += passed;
            world.play(step)?;
        }
        Ok(())
    });
    outcome.unwrap();
}
