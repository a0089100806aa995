//! What each script is handed, and what is made of its reply: KEYS and ARGV in the order of its header, and every code.

use std::num::NonZeroU32;

use sluice::api::code::Language;
use sluice::digest::Tag;
use sluice::model::{Millis, OrderId, Partition, Sku, User};
use sluice::script::deduct::{self, Answers, Deduct, Outcome};
use sluice::script::keys::Keyspace;
use sluice::script::preheat::{self, Applied, Terms};
use sluice::script::product;
use sluice::script::release::Release;
use sluice::script::repair::{self, Repair};
use sluice::script::reply::{Reader, ReplyFault};
use sluice::script::restore::{self, Restore, Restored};
use sluice::script::settled::Settled;
use sluice::script::{complete, counters, due, release};
use sluice_upstash::{Arg, Value};

const ID: &str = "3-01JDZV6Q8W3M5K9T2R4X7Y1C0B";

fn order() -> OrderId {
    OrderId::parse(ID).unwrap()
}

fn sku() -> Sku {
    Sku::parse("demo").unwrap()
}

/// With one partition, so that the names are easy to read.
fn keyspace() -> Keyspace {
    Keyspace::new("sl1", 1)
}

fn shown(args: &[Arg<'_>]) -> Vec<String> {
    let text = |arg: &Arg<'_>| match arg {
        Arg::Str(text) => (*text).to_owned(),
        Arg::Int(n) => n.to_string(),
    };
    args.iter().map(text).collect()
}

fn ints(items: &[i64]) -> Value {
    Value::Array(items.iter().map(|n| Value::Int(*n)).collect())
}

#[test]
fn every_key_has_the_name_that_other_versions_and_tools_know_it_by() {
    let keys = keyspace();
    let (p, sku, tag) = (Partition(0), sku(), Tag::of(&[b"x"]));
    assert_eq!(keys.prefix(), "sl1");
    for (key, name) in [
        (keys.sale(&sku), "sl1:{p0}:sale:demo".to_owned()),
        (keys.stock(&sku), "sl1:{p0}:stock:demo".to_owned()),
        (keys.buyers(&sku), "sl1:{p0}:buyers:demo".to_owned()),
        (keys.counters(&sku), "sl1:{p0}:count:demo".to_owned()),
        (keys.request(p, "op"), "sl1:{p0}:req:op".to_owned()),
        (keys.order(&order()), format!("sl1:{{p3}}:order:{ID}")),
        (keys.orders(p), "sl1:{p0}:orders".to_owned()),
        (keys.due(Partition(7)), "sl1:{p7}:due".to_owned()),
        (keys.seq(p), "sl1:{p0}:seq".to_owned()),
        (keys.paid(p, &tag), format!("sl1:{{p0}}:paid:{}", tag.as_str())),
        (keys.restored(p, ID), format!("sl1:{{p0}}:restored:{ID}")),
        (keys.bucket(p, "user", &tag), format!("sl1:{{p0}}:b:user:{}", tag.as_str())),
        (keys.shard(p, "user", &tag, 5), format!("sl1:{{p0}}:b:user:{}:5", tag.as_str())),
        (keys.claim(p, &tag), format!("sl1:{{p0}}:claim:{}", tag.as_str())),
        (keys.token(p, &tag), format!("sl1:{{p0}}:token:{}", Tag::of(&[tag.as_str().as_bytes()]).as_str())),
        (keys.product(&sku), "sl1:{p0}:product:demo".to_owned()),
        (keys.floor(&sku), "sl1:{p0}:floor:demo".to_owned()),
        (keys.product_news(), "sl1:products".to_owned()),
        (keys.revoked(p, "jti"), format!("sl1:{{p0}}:revoked:{}", Tag::of(&[b"jti"]).as_str())),
    ] {
        assert_eq!(key, name);
    }
}

#[test]
fn sales_are_spread_over_all_partitions_by_the_clusters_hash_and_none_is_no_partition() {
    let keys = Keyspace::new("sl1", 16);
    assert_eq!(keys.partitions().map(|p| p.0).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
    // `CLUSTER KEYSLOT foo` is 12182, and 12182 % 16 = 6.
    assert_eq!(keys.partition_of(&Sku::parse("foo").unwrap()), Partition(6));
    let used: std::collections::HashSet<u16> =
        (0..200).map(|n| keys.partition_of(&Sku::parse(&format!("sale-{n}")).unwrap()).0).collect();
    assert_eq!(used.len(), 16);
    assert_eq!(Keyspace::new("sl1", 0).partitions().count(), 1);
}

#[test]
fn the_catalogs_scripts_are_called_as_their_headers_say() {
    assert_eq!(product::keys(&keyspace(), &sku()), ["sl1:{p0}:product:demo", "sl1:{p0}:floor:demo"]);
    assert_eq!(shown(&product::fill(7, "{}", Millis(5))), ["7", "{}", "5"]);
    assert_eq!(shown(&product::outdate(8)), ["8", "60000"]);
    assert_eq!(product::filled(&Value::Int(1)), Ok(true));
    assert_eq!(product::filled(&Value::Int(0)), Ok(false));
    for other in [Value::Int(2), Value::Null, Value::Str("1".into())] {
        assert_eq!(product::filled(&other), Err(ReplyFault));
    }
}

fn deduct<'a>(sku: &'a Sku, user: &'a User, order: &'a OrderId, claim: Option<deduct::Claim<'a>>) -> Deduct<'a> {
    Deduct {
        order,
        op_id: "op",
        sku,
        user,
        quantity: NonZeroU32::new(2).unwrap(),
        not_after: Millis(9),
        known_seq: 4,
        retention: Millis(5),
        claim,
    }
}

#[test]
fn deduct_is_called_as_its_header_says() {
    let (sku, user, order) = (sku(), User::parse("42").unwrap(), order());
    let claim = deduct::Claim { key: "sl1:{p0}:claim:c", owner: "me" };
    let call = deduct(&sku, &user, &order, Some(claim));
    let stock = ["sl1:{p0}:sale:demo", "sl1:{p0}:stock:demo", "sl1:{p0}:buyers:demo", "sl1:{p0}:req:op"];
    let rest = [format!("sl1:{{p3}}:order:{ID}"), "sl1:{p0}:orders".into(), "sl1:{p0}:seq".into(), claim.key.into()];
    let keys: Vec<String> = stock.map(str::to_owned).into_iter().chain(rest).collect();
    assert_eq!(call.keys(&keyspace()), keys);

    let answers = Answers::new(Language::English);
    let args = shown(&call.args(&answers));
    assert_eq!(args[..9], [ID, "op", "demo", "42", "2", "9", "4", "me", "5"]);
    assert_eq!(args.len(), 12);
    for (arg, part) in args[9..].iter().zip(["order_id", "already_bought", "sale_ended"]) {
        assert!(arg.contains(part), "{part}: {arg}");
    }
}

#[test]
fn each_code_of_deduct_is_an_outcome_of_its_own() {
    let reply = |code| {
        let mut items = vec![Value::Int(code), Value::Str(ID.into())];
        items.extend([7, 1, 3, 9, 11].map(Value::Int));
        Value::Array(items)
    };
    let outcomes = [
        (0, Outcome::Accepted(order())),
        (1, Outcome::SoldOut),
        (2, Outcome::AlreadyBought(ID.into())),
        (3, Outcome::Same(order())),
        (-1, Outcome::NotPreheated),
        (-2, Outcome::Paused),
        (-3, Outcome::NotStarted),
        (-4, Outcome::Ended),
        (-5, Outcome::TooLate),
        (-6, Outcome::RolledBack),
        (-7, Outcome::OverQuota),
    ];
    for (code, outcome) in outcomes {
        let read = deduct::parse(reply(code)).unwrap();
        let want =
            deduct::Reply { outcome, now: Millis(7), claim_written: true, seq: 3, stock: 9, starts_at: Millis(11) };
        assert_eq!(read, want, "{code}");
    }
    for unknown in [4, -8, 7] {
        assert_eq!(deduct::parse(reply(unknown)), Err(ReplyFault));
    }
    let Value::Array(mut items) = reply(0) else { unreachable!() };
    items[3] = Value::Int(0);
    assert!(!deduct::parse(Value::Array(items)).unwrap().claim_written);
}

#[test]
fn a_sale_is_put_into_redis_and_changed_there_as_the_headers_say() {
    let (starts_at, ends_at) = (Millis(1), Millis(2));
    let terms = Terms { starts_at, ends_at, paused: true, per_user: 3, price: 4, version: 5 };
    assert_eq!(shown(&terms.args()), ["1", "2", "1", "3", "4", "5"]);
    assert_eq!(preheat::keys(&keyspace(), &sku()), ["sl1:{p0}:sale:demo", "sl1:{p0}:stock:demo"]);
    let written = |n| preheat::preheated(&Value::Int(n));
    assert_eq!((written(0), written(1), written(2)), (Ok(false), Ok(true), Err(ReplyFault)));
    let applied = |n| preheat::applied(&Value::Int(n));
    assert_eq!((applied(1), applied(0)), (Ok(Applied::Written), Ok(Applied::Older)));
    assert_eq!((applied(-1), applied(2)), (Ok(Applied::NotPreheated), Err(ReplyFault)));
}

#[test]
fn stock_is_given_back_as_the_header_says() {
    let (sku, user, order) = (sku(), User::parse("42").unwrap(), order());
    let order_ttl = Millis(6);
    let mut call = Restore {
        order: &order,
        sku: &sku,
        user: &user,
        quantity: 2,
        state: "cancelled",
        order_ttl,
        keeps_buyer: true,
    };
    let (at, marker) = (format!("sl1:{{p3}}:order:{ID}"), format!("sl1:{{p3}}:restored:{ID}"));
    assert_eq!(call.keys(&keyspace()), ["sl1:{p0}:stock:demo", "sl1:{p0}:buyers:demo", &at, &marker]);
    // 7 days.
    assert_eq!(shown(&call.args()), [ID, "42", "2", "cancelled", "604800000", "6", "1"]);
    call.keeps_buyer = false;
    assert_eq!(call.args()[6], Arg::Int(0));
    let parsed = |n| restore::parse(&Value::Int(n));
    assert_eq!((parsed(1), parsed(0)), (Ok(Restored::Now), Ok(Restored::Before)));
    assert_eq!((parsed(-1), parsed(2)), (Ok(Restored::NotPreheated), Err(ReplyFault)));
}

#[test]
fn stock_is_repaired_as_the_header_says() {
    let sku = sku();
    let restored = ["a".to_owned(), "b".to_owned()];
    let call = Repair { sku: &sku, seen: Some(-1), stock: 7, restored: &restored };
    assert_eq!(call.keys(&keyspace()), ["sl1:{p0}:stock:demo", "sl1:{p0}:restored:a", "sl1:{p0}:restored:b"]);
    assert_eq!(shown(&repair::args(&call.numbers())), ["-1", "7", "604800000"]);
    assert_eq!(Repair { seen: None, ..call }.numbers(), (String::new(), "7".to_owned()));
    let parsed = |n| repair::parse(&Value::Int(n));
    assert_eq!((parsed(1), parsed(0), parsed(2)), (Ok(true), Ok(false), Err(ReplyFault)));
}

#[test]
fn entries_are_acknowledged_as_the_header_says() {
    let call = Settled {
        partition: Partition(3),
        group: "g",
        order_ttl: Millis(6),
        orders: vec![(order(), "pending_payment".into())],
        to_be_paid: vec![(order(), Millis(8))],
        entries: vec!["1-0", "2-0"],
    };
    assert_eq!(call.keys(&keyspace()), ["sl1:{p3}:orders", "sl1:{p3}:due", &format!("sl1:{{p3}}:order:{ID}")]);
    assert_eq!(shown(&call.args()), ["g", "6", "1", "pending_payment", "8", ID, "1-0", "2-0"]);
}

#[test]
fn orders_that_are_due_are_lent_as_the_header_says_and_foreign_members_are_left_out() {
    assert_eq!(shown(&due::args(Millis(5), 10)), ["5", "10"]);
    let reply = Value::Array(vec![Value::Str(ID.into()), Value::Str("no order".into())]);
    assert_eq!(due::parse(reply), Ok(vec![order()]));
    assert_eq!(due::parse(Value::Null), Err(ReplyFault));
    assert_eq!(due::parse(ints(&[1])), Err(ReplyFault));
}

#[test]
fn a_claim_is_finished_and_given_up_as_the_headers_say() {
    let owner = Tag::of(&[b"owner"]);
    assert_eq!(shown(&complete::args(&owner, Some("packed"))), [owner.as_str(), "packed"]);
    assert_eq!(shown(&complete::args(&owner, None)), [owner.as_str(), ""]);
    assert_eq!(shown(&release::args(&owner, Release::Forget)), [owner.as_str(), "0"]);
    assert_eq!(shown(&release::args(&owner, Release::NotBefore(Millis(9)))), [owner.as_str(), "9"]);
    let parsed = |n| complete::parse(&Value::Int(n));
    assert_eq!((parsed(0), parsed(1), parsed(2)), (Ok(false), Ok(true), Err(ReplyFault)));
}

#[test]
fn counters_are_read_in_pairs_whether_numbers_or_texts() {
    let text = |text: &str| Value::Str(text.into());
    let reply = vec![text("admitted"), text("2"), text("shed"), Value::Int(3), text("bad"), text("x"), text("odd")];
    assert_eq!(counters::parse(&Value::Array(reply)), [("admitted", 2), ("shed", 3)]);
    assert_eq!(counters::parse(&Value::Null), []);
}

#[test]
fn a_reply_is_read_item_by_item_and_no_other_kind_passes() {
    let mut reader = Reader::new(Value::Array(vec![Value::Int(-1), Value::Int(5), Value::Str("t".into())])).unwrap();
    assert_eq!((reader.int(), reader.amount(), reader.text()), (Ok(-1), Ok(5), Ok("t".into())));
    assert_eq!((reader.int(), reader.text()), (Err(ReplyFault), Err(ReplyFault)));
    assert_eq!(Reader::new(ints(&[1, -2])).unwrap().ints(), Ok(vec![1, -2]));
    assert_eq!(Reader::new(ints(&[-1])).unwrap().amount(), Err(ReplyFault));
    assert_eq!(Reader::new(Value::Array(vec![Value::Str("1".into())])).unwrap().int(), Err(ReplyFault));
    assert!(Reader::new(Value::Int(1)).is_err());
}
