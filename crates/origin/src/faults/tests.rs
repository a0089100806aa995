//! Runs schedules of faults, and judges each.
//!
//! `SLUICE_FAULTS=first..last` chooses the seeds, `cargo xtask faults --in-process --seed S` does so.
#![cfg(test)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::{ConnectionTrait as _, Database};
use sluice::assertion::Assertions;
use sluice::model::{Millis, Sku};
use sluice::script::keys::Keyspace;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use xtask::clock;
use xtask::faults::after::after;
use xtask::faults::audit::Auditor;
use xtask::faults::clients::Clients;
use xtask::faults::gateway::{Gateway, PRICE};
use xtask::faults::judge::judge;
use xtask::faults::tally::{Tally, Told};
use xtask::stack::{Part, Port, Stack};

use super::Plan;
use super::incarnation::{End, Incarnation};
use super::schedule::Schedule;
use crate::Config;
use crate::app::App;
use crate::config::Secrets;
use crate::ops::create::{self, New};
use crate::ops::reconcile;
use crate::sql::Sql;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// The seeds that are run when none are named.
const SEEDS: std::ops::Range<u64> = 1..201;
/// How many schedules are under way at once: they mostly wait.
const AT_ONCE: usize = 8;
/// How long anything may take on a machine under load.
const LIMIT: Duration = Duration::from_secs(60);

/// For how long at most origins meet faults.
const AT_MOST: Duration = Duration::from_secs(3);

type Met = BTreeMap<(&'static str, String), u64>;

/// What the schedules share.
struct Ground {
    redis: String,
    folder: std::path::PathBuf,
}

#[test]
#[ignore = "needs redis-server: `cargo xtask test faults`"]
fn every_invariant_holds_wherever_a_call_fails_or_the_process_stops() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(all(seeds()));
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("SLUICE_FAULTS") else { return SEEDS };
    let (first, last) = text.split_once("..").expect("SLUICE_FAULTS is first..last");
    first.parse().unwrap()..last.parse::<u64>().unwrap() + 1
}

async fn all(seeds: std::ops::Range<u64>) {
    let stack = Stack::builder().only(&[Part::Redis]).appendfsync(xtask::stack::AppendFsync::No).already_built();
    let stack = stack.start().await.unwrap();
    // Memory, where there is a file system of it: every transaction waits until it is written.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let ground = Arc::new(Ground { redis: stack.redis_url(), folder: folder.path().to_owned() });
    template(&ground).await;
    let (begun, wanted) = (clock::now(), seeds.end - seeds.start);
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for seed in seeds {
        let (ground, slots) = (Arc::clone(&ground), Arc::clone(&slots));
        running.spawn(async move {
            let _slot = slots.acquire_owned().await;
            (seed, one(&ground, seed).await)
        });
    }
    let (mut done, mut failed, mut met) = (0u64, Vec::new(), Met::new());
    while let Some(joined) = running.join_next().await {
        let (seed, outcome) = joined.unwrap();
        done += 1;
        match outcome {
            Ok((faults, broken)) if broken.is_empty() => {
                faults.into_iter().for_each(|(key, times)| *met.entry(key).or_default() += times);
            }
            Ok((_, broken)) => failed.push((seed, broken)),
            Err(error) => failed.push((seed, vec![format!("{error:#}")])),
        }
        if done.is_multiple_of(100) {
            println!("{done}/{wanted} schedules, {} broken, {}", failed.len(), clock::human(begun.elapsed()));
        }
    }
    report(&met, done, begun.elapsed());
    for (seed, broken) in &failed {
        println!("seed {seed}: {broken:#?}\n{:#?}", Schedule::of(*seed));
        println!("the same schedule again: cargo xtask faults --in-process --schedules 1 --seed {seed}");
    }
    assert!(failed.is_empty(), "{} of {done} schedules broke an invariant", failed.len());
}

fn report(met: &Met, done: u64, took: Duration) {
    let mut calls: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((fault, call), times) in met {
        calls.entry(call).or_default().push(format!("{times} x {fault}"));
    }
    for (call, faults) in &calls {
        println!("  {call}: {}", faults.join(", "));
    }
    let faults: u64 = met.values().sum();
    println!("{done} schedules, {faults} faults at {} kinds of call, {}", calls.len(), clock::human(took));
}

/// An empty database that each schedule gets a copy of: migrations take longer than a schedule.
async fn template(ground: &Ground) {
    let file = |name: &str| ground.folder.join(name).display().to_string();
    let url = format!("sqlite://{}?mode=rwc", file("migrated"));
    drop(Sql::open(&url, false).await.unwrap());
    let connection = Database::connect(&url).await.unwrap();
    connection.execute_unprepared(&format!("VACUUM INTO '{}'", file("template"))).await.unwrap();
    connection.close().await.unwrap();
}

/// One schedule: the faults that were met, and a sentence for each invariant that does not hold.
async fn one(ground: &Ground, seed: u64) -> anyhow::Result<(Met, Vec<String>)> {
    let schedule = Schedule::of(seed);
    let crowd = &schedule.crowd;
    let file = ground.folder.join(format!("{seed}.sqlite"));
    std::fs::copy(ground.folder.join("template"), &file)?;
    let database = format!("sqlite://{}?mode=rwc", file.display());
    let keyspace = Keyspace::new(&format!("f{seed}"), 1);
    let config = |consumer: usize| {
        let mut config = Config::new(&ground.redis, &database, SECRET);
        config.keyspace = keyspace.clone();
        config.consumer = format!("origin-{consumer}");
        config.take_over_after = Duration::from_millis(150);
        config.tend_every = Duration::from_millis(50);
        config.poll_every = Duration::from_millis(20);
        config.sweep_every = Duration::from_millis(100);
        config.job_ttl = Duration::from_millis(300);
        config.payment_secrets = Secrets::parse(SECRET).ok();
        config
    };
    // An operator's process: it has no plan.
    let app = App::open(config(99)).await?;
    let sku = Sku::parse("demo")?;
    let new = New {
        sku: sku.clone(),
        title: "Demo".to_owned(),
        price: PRICE.unsigned_abs(),
        currency: "CNY".to_owned(),
        stock: crowd.stock,
        starts_at: app.now(),
        ends_at: None,
        per_user: crowd.per_user,
        pay_within: Millis(crowd.pay_within),
        rebuy: true,
    };
    create::create(&app, &new, app.now(), false).await?;

    let ports: Vec<Port> = schedule.origins.iter().map(|_| Port::reserve()).collect::<Result<_, _>>()?;
    let (mended, is_mended) = watch::channel(None);
    let clients = Arc::new(Clients {
        origins: ports.iter().map(|port| format!("http://127.0.0.1:{}", port.number())).collect(),
        assertions: Assertions::new(SECRET)?,
        gateway: Gateway { secret: SECRET.to_owned(), http: reqwest::Client::builder().no_proxy().build()? },
        sku: sku.to_string(),
        tally: Tally::default(),
        begun: clock::now(),
        pause: Duration::from_millis(15),
        mended: is_mended,
        patience: Duration::from_secs(20),
    });
    let auditor = Auditor::new(&ground.redis, &database, keyspace.clone(), "demo").await?;

    let (over, is_over) = watch::channel(false);
    let origins = schedule.origins.iter().zip(&ports).enumerate().map(|(n, (lives, port))| {
        let plans = lives.iter().map(|faults| Plan::new(faults.clone())).collect();
        tokio::spawn(keep_alive(config(n), port.number(), plans, is_over.clone()))
    });
    let origins: Vec<_> = origins.collect();
    let judged = async {
        let mut come = std::pin::pin!(clients.come(crowd));
        let early = tokio::time::timeout(AT_MOST, &mut come).await;
        // From here on no fault begins.
        over.send_replace(true);
        mended.send_replace(Some(clock::now()));
        match early {
            Ok(done) => done?,
            Err(_) => come.await?,
        }
        let (books, unsold) = after(crowd, &clients, &auditor, LIMIT).await?;
        let told = clients.tally.all();
        let mut broken: Vec<String> = unsold.into_iter().collect();
        broken.extend(judge(crowd, &told, &books, None));
        let checked = reconcile::check(&app).await?;
        if !checked.agrees {
            broken.push(format!("{checked:?}"));
        }
        if !broken.is_empty() {
            broken.extend(told.iter().map(|(at, told): &(u64, Told)| format!("{at} ms {told:?}")));
        }
        anyhow::Ok(broken)
    };
    let judged = judged.await;
    over.send_replace(true);
    drop(over);
    let mut met = Met::new();
    for origin in origins {
        origin.await?.into_iter().for_each(|(key, times)| *met.entry(key).or_default() += times);
    }
    auditor.close().await;
    let _ = std::fs::remove_file(&file);
    Ok((met, judged?))
}

/// Starts an origin again whenever it stops. Once it is over no fault happens any more; the last life ends when the
/// sender is dropped.
async fn keep_alive(config: Config, port: u16, plans: Vec<Arc<Plan>>, mut over: watch::Receiver<bool>) -> Met {
    let mut all = Met::new();
    let mut plans = plans.into_iter();
    loop {
        let plan = plans.next().unwrap_or_default();
        if *over.borrow() {
            plan.mend();
        }
        let mut life = Incarnation::begin(config.clone(), port, plan);
        let told = loop {
            tokio::select! {
                end = life.ended() => break end,
                changed = over.changed() => {
                    if changed.is_err() {
                        let plan = Arc::clone(&life.plan);
                        life.finish().await;
                        plan.met().into_iter().for_each(|(key, times)| *all.entry(key).or_default() += times);
                        return all;
                    }
                    life.plan.mend();
                }
            }
        };
        life.plan.met().into_iter().for_each(|(key, times)| *all.entry(key).or_default() += times);
        if told == End::Failed {
            // Whoever looks after a process waits a little before it is started again.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
