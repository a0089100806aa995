//! Products that change while they are read, and are read while Redis is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::support::client::Client;
use crate::support::products::{SQL_READS, ask_for};
use crate::support::{Shop, until};

/// Reads again and again until it is told to stop. `least` is the version that every read that begins from now on must
/// see. How often it read.
#[allow(clippy::disallowed_methods)] // tests measure by the real clock
async fn watch(client: Client, least: Arc<AtomicU64>, over: Arc<AtomicBool>) -> u64 {
    let (mut seen, mut reads) = (0, 0);
    while !over.load(Ordering::SeqCst) {
        let least = least.load(Ordering::SeqCst);
        let answer = client.get("/v1/products/p0").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let version = answer.json()["version"].as_u64().unwrap();
        assert!(version >= seen, "it went back from {seen} to {version}");
        assert!(version >= least, "a second after the change to {least} it is still {version}");
        (seen, reads) = (version, reads + 1);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    reads
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_under_concurrent_reads_is_seen_within_a_second_and_never_goes_back() {
    let shop = Shop::new().await;
    shop.products(0..1).await;
    let (first, second) = (shop.origin_with(shop.patient()).await, shop.origin_with(shop.patient()).await);
    first.hears().await;
    second.hears().await;
    let (least, over) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicBool::new(false)));
    let clients = [&first, &second, &first, &second, &first, &second].map(|origin| origin.client.clone());
    let readers: Vec<_> =
        clients.into_iter().map(|client| tokio::spawn(watch(client, least.clone(), over.clone()))).collect();
    for price in 100..112 {
        let version = first.reprice("p0", price).await;
        let least = least.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            least.fetch_max(version, Ordering::SeqCst);
        });
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    until("the last change had its second", || async { least.load(Ordering::SeqCst) == 13 }).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    over.store(true, Ordering::SeqCst);
    let reads: u64 = join_all(readers).await.into_iter().map(Result::unwrap).sum();
    assert!(reads > 100, "{reads}");
    assert_eq!(second.client.get("/v1/products/p0").await.json()["price"], 111);
    assert!(first.told(SQL_READS).await + second.told(SQL_READS).await < reads / 2, "most reads come from caches");
}

#[tokio::test]
async fn what_a_slow_reader_brings_back_is_refused_and_what_was_written_past_that_is_deleted_again() {
    let shop = Shop::new().await;
    shop.products(0..1).await;
    let origin = shop.origin_with(shop.patient()).await;
    origin.hears().await;
    assert_eq!(origin.client.get("/v1/products/p0").await.json()["price"], 0);
    let key = "sl1:{p0}:product:p0";
    let old: String = shop.redis.ask(&format!("GET {key}")).await;
    assert_eq!(origin.reprice("p0", 5).await, 2);
    assert_eq!(shop.redis.ask::<i64>("GET sl1:{p0}:floor:p0").await, 2);
    // A reader that had read version 1 before the change, and knows no floor.
    shop.redis.ask_with::<()>(&["SET", key, &old, "PX", "600000"]).await;
    assert_eq!(origin.client.get("/v1/products/p0").await.json()["price"], 5, "this process knows better");
    shop.redis.ask_with::<()>(&["SET", key, &old, "PX", "600000"]).await;
    // On a slow machine the outbox may have come before that.
    shop.sql.run("UPDATE outbox SET done_at = NULL, next_at = created_at + 500").await;
    until("it is deleted once more", || async {
        shop.redis.ask::<Option<String>>(&format!("GET {key}")).await.as_ref() != Some(&old)
    })
    .await;
    until("the task is done", || async {
        shop.sql.number("SELECT COUNT(*) FROM outbox WHERE done_at IS NULL").await == 0
    })
    .await;
    let between = "SELECT MIN(next_at - created_at) FROM outbox WHERE kind = 'product'";
    assert_eq!(shop.sql.number(between).await, 500);
}

#[tokio::test]
async fn a_change_whose_process_died_or_found_no_redis_reaches_the_caches_by_the_outbox() {
    let shop = Shop::new().await;
    shop.products(0..1).await;
    let origin = shop.origin_with(shop.patient()).await;
    origin.hears().await;
    assert_eq!(origin.client.get("/v1/products/p0").await.json()["price"], 0);
    // As a process leaves it behind that was killed right after its transaction.
    shop.sql.run("UPDATE products SET price = 7, version = 2").await;
    let task = r#"INSERT INTO outbox (dedupe_key, kind, payload, attempts, next_at, created_at)
        VALUES ('product:p0:2', 'product', '{"product":"p0","version":2}', 0, 0, 0)"#;
    shop.sql.run(task).await;
    until("the change is seen", || async { origin.client.get("/v1/products/p0").await.json()["price"] == 7 }).await;
}

#[tokio::test]
#[allow(clippy::disallowed_methods)] // tests measure by the real clock
async fn while_redis_is_stopped_for_five_seconds_copies_and_a_few_questions_to_sql_answer() {
    let shop = Shop::new().await;
    shop.products(0..400).await;
    let mut config = shop.patient();
    config.catalog_answer = Duration::from_millis(300);
    config.catalog_wait = Duration::from_millis(500);
    let origin = shop.origin_with(config).await;
    origin.hears().await;
    for answer in ask_for(&origin.client, (0..20).map(|n| format!("p{n}")), 4).await {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let reads = origin.told(SQL_READS).await;
    shop.redis.signal("-STOP");
    let stopped = Instant::now();
    let (mut busy, mut found) = (0, 0);
    while stopped.elapsed() < Duration::from_secs(5) {
        for answer in ask_for(&origin.client, (0..20).map(|n| format!("p{n}")), 20).await {
            assert_eq!(answer.status, 200, "what this process has a copy of is told: {answer:?}");
        }
        let begun = Instant::now();
        for answer in ask_for(&origin.client, (100..400).map(|n| format!("p{n}")), 300).await {
            match answer.status {
                200 => found += 1,
                503 => {
                    assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("busy", Some("1")));
                    busy += 1;
                }
                other => panic!("{other}: {answer:?}"),
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(15), "nobody waits for Redis: {:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let asked = origin.told(SQL_READS).await - reads;
    assert!(found > 0 && asked > 0, "some are read from SQL: {found}, {asked}");
    assert!(asked <= 300 + found, "each at most once while its copy is good: {asked}");
    println!("while Redis was stopped: {found} found, {busy} refused, {asked} questions to SQL");
    shop.redis.signal("-CONT");
    until("all is as before", || async {
        let answers = ask_for(&origin.client, (0..400).map(|n| format!("p{n}")), 16).await;
        answers.iter().all(|answer| answer.status == 200)
    })
    .await;
    // And changes are heard of again.
    origin.hears().await;
    origin.operate("POST", "/admin/products", json!({"id": "new", "title": "New", "price": 5})).await;
    assert_eq!(origin.client.get("/v1/products/new").await.status, 200);
    origin.reprice("p0", 77).await;
    assert_eq!(origin.client.get("/v1/products/p0").await.json()["price"], 77);
}

#[tokio::test]
async fn without_redis_or_sql_what_is_known_is_told_and_the_rest_comes_back_with_them() {
    let mut shop = Shop::new().await;
    shop.products(0..2).await;
    let origin = shop.origin_with(shop.patient()).await;
    origin.hears().await;
    assert_eq!(origin.client.get("/v1/products/p0").await.status, 200);
    shop.redis.kill();
    shop.sql.run("ALTER TABLE products RENAME TO products_away").await;
    until("changes are not heard of any more", || async {
        let stale = "sluice_origin_catalog_answers_total{from=\"stale\"}";
        assert_eq!(origin.client.get("/v1/products/p0").await.status, 200);
        origin.told(stale).await > 0
    })
    .await;
    let answer = origin.client.get("/v1/products/p1").await;
    assert_eq!((answer.status, answer.code(), answer.header("retry-after")), (503, "busy".into(), Some("1")));
    shop.sql.run("ALTER TABLE products_away RENAME TO products").await;
    assert_eq!(origin.client.get("/v1/products/p1").await.status, 200, "SQL alone is enough");
    shop.redis.start_again().await;
    origin.hears().await;
    assert_eq!(origin.client.get("/v1/products/p0").await.status, 200);
}
