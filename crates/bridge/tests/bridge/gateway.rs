//! The gateway's own scripts, called by its own client through the bridge: on a cluster with `partitions = 16`, and
//! on one Redis that holds them to their KEYS and their token to its prefix.

use std::num::NonZeroU32;
use std::time::Duration;

use sluice::admit::{Charge, Verdict};
use sluice::api::code::Language;
use sluice::digest::Tag;
use sluice::model::{Cost, Micros, Millis, OrderId, Quota, Sku, User};
use sluice::script::admit::{Call, Claiming, Sale};
use sluice::script::deduct::{self, Answers, Claim, Deduct, Outcome};
use sluice::script::keys::Keyspace;
use sluice::script::preheat::{self, Terms};
use sluice::script::{admit, complete};
use sluice_bridge::Config;
use sluice_upstash::transport::Reqwest;
use sluice_upstash::{Arg, Client, Script, Value};

use crate::cluster::Cluster;
use crate::support::{Bridge, Redis, TOKEN};

const LEFT: Duration = Duration::from_secs(20);

/// The way of a gateway and an origin to Redis.
struct Gateway {
    client: Client<Reqwest>,
    keys: Keyspace,
}

impl Gateway {
    fn before(bridge: &Bridge, token: &str, partitions: u16) -> Self {
        let client = Client::new(Reqwest::new(&bridge.url, token).unwrap());
        Self { client, keys: Keyspace::new("sl1", partitions) }
    }

    async fn run(&self, script: &Script, keys: &[String], args: &[Arg<'_>]) -> Value {
        self.client.eval(script, keys, args, || LEFT).await.unwrap()
    }

    async fn preheat(&self, sku: &Sku, stock: u64) {
        let terms = Terms {
            starts_at: Millis(1),
            ends_at: Millis(9_000_000_000_000),
            paused: false,
            per_user: 1,
            price: 1999,
            version: 1,
        };
        let mut args = terms.args();
        args.push(Arg::Int(stock));
        let reply = self.run(&preheat::PREHEAT, &preheat::keys(&self.keys, sku), &args).await;
        assert_eq!(preheat::preheated(&reply), Ok(true));
    }

    /// Admission of one operation of a user: claim, the sale's snapshot and two buckets, in one call.
    async fn admit(&self, sku: &Sku, user: &str, owner: &str) -> Verdict {
        let p = self.keys.partition_of(sku);
        let charge = |burst| Charge { quota: Quota::parse(burst, "1/h").unwrap(), cost: Cost(1) };
        let call = Call {
            claiming: Some(Claiming {
                key: self.claim(sku, user),
                owner: tag(owner),
                fingerprint: tag("body"),
                op_id: operation(sku, user),
                lease: Millis(30_000),
                retention: Millis(86_400_000),
                held: false,
            }),
            sale: Some(Sale { keys: [self.keys.sale(sku), self.keys.stock(sku)], refuses: true }),
            buckets: vec![
                (self.keys.bucket(p, "user", &operation(sku, user)), charge(3)),
                (self.keys.bucket(p, "ip", &tag(sku.as_str())), charge(50)),
            ],
            now: Micros(0),
            ..Call::default()
        };
        admit::parse(self.run(&admit::SCRIPT, &call.keys(), &call.args()).await).unwrap().verdict
    }

    fn claim(&self, sku: &Sku, user: &str) -> String {
        self.keys.claim(self.keys.partition_of(sku), &operation(sku, user))
    }

    async fn deduct(&self, sku: &Sku, user: &str, owner: &str, number: u16) -> deduct::Reply {
        let order = OrderId::parse(&format!("{}-{number:026}", self.keys.partition_of(sku).0)).unwrap();
        let (buyer, op_id, owner) = (User::parse(user).unwrap(), operation(sku, user), tag(owner));
        let claim = self.claim(sku, user);
        let call = Deduct {
            order: &order,
            op_id: op_id.as_str(),
            sku,
            user: &buyer,
            quantity: NonZeroU32::MIN,
            not_after: Millis(9_000_000_000_000),
            known_seq: 0,
            retention: Millis(86_400_000),
            claim: Some(Claim { key: &claim, owner: owner.as_str() }),
        };
        let answers = Answers::new(Language::English);
        let reply = self.run(&deduct::SCRIPT, &call.keys(&self.keys), &call.args(&answers)).await;
        deduct::parse(reply).unwrap()
    }

    /// From admission to a replay, and what a second owner is told in between.
    async fn buys(&self, sku: &Sku, number: u16) {
        assert!(matches!(self.admit(sku, "ann", "first").await, Verdict::Admitted { .. }), "{sku:?}");
        assert!(matches!(self.admit(sku, "ann", "second").await, Verdict::InFlight { .. }));
        let reply = self.deduct(sku, "ann", "first", number).await;
        assert!(matches!(reply.outcome, Outcome::Accepted(_)) && reply.claim_written, "{reply:?}");
        assert!(matches!(self.admit(sku, "ann", "third").await, Verdict::Replay { .. }));
        assert!(matches!(self.deduct(sku, "ann", "first", number + 500).await.outcome, Outcome::Same(_)));
        assert!(matches!(self.admit(sku, "bob", "fourth").await, Verdict::Admitted { .. }));
        let owner = tag("fourth");
        let done = complete::args(&owner, Some("202\n\nt{}"));
        let reply = self.run(&complete::SCRIPT, &[self.claim(sku, "bob")], &done).await;
        assert_eq!(complete::parse(&reply), Ok(true));
        assert!(matches!(self.admit(sku, "bob", "fifth").await, Verdict::Replay { .. }));
    }

    /// A hundred users at once for ten items and fifty places at the address' bucket.
    async fn sells_out(&self, sku: &Sku) {
        let attempts = (0..100u16).map(|number| async move {
            let user = format!("user{number}");
            match self.admit(sku, &user, &user).await {
                Verdict::Admitted { .. } => Some(self.deduct(sku, &user, &user, number).await.outcome),
                _ => None,
            }
        });
        let outcomes = futures_util::future::join_all(attempts).await;
        let sold = outcomes.iter().flatten().filter(|outcome| matches!(outcome, Outcome::Accepted(_))).count();
        assert_eq!(sold, 10, "{outcomes:?}");
        // Once it is sold out, admission itself refuses.
        assert!(outcomes.iter().flatten().count() <= 50);
        let stock = self.client.call("GET", &[Arg::Str(&self.keys.stock(sku))], LEFT).await.unwrap();
        assert_eq!(stock, Value::Str("0".to_owned()));
    }
}

fn tag(text: &str) -> Tag {
    Tag::of(&[text.as_bytes()])
}

/// What a user does at most once: buy from this sale.
fn operation(sku: &Sku, user: &str) -> Tag {
    Tag::of(&[user.as_bytes(), sku.as_str().as_bytes()])
}

fn sku(number: u16) -> Sku {
    Sku::parse(&format!("sku-{number}")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_partitions_on_three_masters_admit_and_sell() {
    let cluster = Cluster::start().await;
    let bridge = cluster.bridge().await;
    let gateway = Gateway::before(&bridge, TOKEN, 16);
    let mut partitions = std::collections::HashSet::new();
    for number in 0..40 {
        let sku = sku(number);
        partitions.insert(gateway.keys.partition_of(&sku).0);
        gateway.preheat(&sku, 10).await;
        gateway.buys(&sku, number).await;
    }
    assert!(partitions.len() > 12, "the sales are spread: {partitions:?}");
    for node in &cluster.nodes {
        assert!(!matches!(node.cli(&["DBSIZE"]).await, redis::Value::Int(0)), "every master has a share");
    }
    let sold_out = sku(99);
    gateway.preheat(&sold_out, 10).await;
    gateway.sells_out(&sold_out).await;
}

/// The token that the documentation recommends for the gateway, with scripts held to their KEYS as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_with_nothing_but_what_the_gateway_needs_is_enough() {
    let redis = Redis::start().await;
    let text = format!(
        r#"
        [[database]]
        name = "shop"
        redis = "{}"
        [[database.token]]
        token = "gate"
        prefix = "sl1:"
        commands = ["EVAL", "EVALSHA", "GET", "MGET", "SET", "PEXPIRE", "PEXPIREAT", "PERSIST", "DEL", "EXISTS", "TIME",
                    "DECRBY", "INCRBY", "INCR", "HGET", "HMGET", "HSET", "HDEL", "HINCRBY", "XADD"]
        "#,
        redis.url()
    );
    let bridge = Bridge::with(&redis, |config| {
        *config = Config::from_toml(&text).unwrap();
        config.check_keys = true;
    })
    .await;
    let gateway = Gateway::before(&bridge, "gate", 1);
    let sku = sku(1);
    gateway.preheat(&sku, 10).await;
    gateway.buys(&sku, 1).await;
    let sold_out = self::sku(2);
    gateway.preheat(&sold_out, 10).await;
    gateway.sells_out(&sold_out).await;
}
