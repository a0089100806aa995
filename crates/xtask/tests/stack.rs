//! A stack of redis-server alone: kill, pause, restart, and what is left when it is dropped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;
use xtask::clock;
use xtask::stack::{Part, Stack};

const LIMIT: Duration = Duration::from_secs(10);

async fn redis_only() -> Stack {
    let builder = Stack::builder().only(&[Part::Redis]).already_built();
    builder.start().await.unwrap()
}

async fn get(stack: &Stack, key: &str) -> Option<String> {
    get_at(&stack.redis_url(), key).await
}

async fn get_at(url: &str, key: &str) -> Option<String> {
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd("GET");
    let reply = command.arg(key).query_async(&mut connection);
    reply.await.unwrap()
}

async fn set(stack: &Stack, key: &str, value: &str) {
    set_at(&stack.redis_url(), key, value).await;
}

async fn set_at(url: &str, key: &str, value: &str) {
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd("SET");
    let reply = command.arg(key).arg(value).query_async(&mut connection);
    let () = reply.await.unwrap();
}

fn lives(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn data_survives_a_kill_and_a_restart_on_the_same_port() {
    let stack = redis_only().await;
    set(&stack, "k", "v").await;
    let (before, port) = (stack.process(Part::Redis).unwrap().pid(), stack.redis_url());
    stack.kill(Part::Redis).unwrap();
    assert!(!stack.process(Part::Redis).unwrap().is_running());
    stack.restart(Part::Redis).await.unwrap();
    assert_eq!(stack.redis_url(), port);
    assert_ne!(stack.process(Part::Redis).unwrap().pid(), before);
    assert_eq!(get(&stack, "k").await.as_deref(), Some("v"));
}

#[tokio::test]
async fn what_is_done_to_a_redis_that_is_a_cluster_is_done_to_all_masters_and_none_loses_its_data() {
    let stack = Stack::builder().only(&[Part::Redis]).cluster(3).already_built().start().await.unwrap();
    let masters = stack.cluster().unwrap().masters();
    // `CLUSTER KEYSLOT`: b is 3300, a is 15495, k is 7629.
    let keys = [("b", 3_300), ("k", 7_629), ("a", 15_495)];
    for (n, (key, slot)) in keys.into_iter().enumerate() {
        assert_eq!(stack.cluster().unwrap().master_of(slot), n);
        set_at(&masters[n], key, "v").await;
    }
    stack.kill(Part::Redis).unwrap();
    for url in &masters {
        assert!(redis::Client::open(url.as_str()).unwrap().get_connection().is_err(), "{url}");
    }
    stack.restart(Part::Redis).await.unwrap();
    for (url, (key, _)) in masters.iter().zip(keys) {
        assert_eq!(get_at(url, key).await.as_deref(), Some("v"));
    }
}

#[tokio::test]
async fn a_paused_part_answers_nothing_until_it_is_resumed() {
    let stack = redis_only().await;
    set(&stack, "k", "v").await;
    stack.pause(Part::Redis).unwrap();
    let silent = tokio::time::timeout(Duration::from_millis(300), get(&stack, "k")).await;
    assert!(silent.is_err());
    stack.resume(Part::Redis).unwrap();
    assert_eq!(get(&stack, "k").await.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_dropped_stack_leaves_nothing_even_when_paused() {
    let stack = redis_only().await;
    let pid = stack.process(Part::Redis).unwrap().pid().unwrap();
    let folder = stack.folder().to_path_buf();
    stack.pause(Part::Redis).unwrap();
    drop(stack);
    assert!(!lives(pid));
    assert!(!folder.exists());
}

#[tokio::test]
async fn stacks_do_not_disturb_each_other() {
    let (one, other) = tokio::join!(redis_only(), redis_only());
    assert_ne!(one.redis_url(), other.redis_url());
    set(&one, "k", "one").await;
    assert_eq!(get(&other, "k").await, None);
    drop(one);
    assert_eq!(get(&other, "k").await, None);
}

#[tokio::test]
async fn a_part_that_cannot_start_shows_its_log() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ports = xtask::stack::Ports { redis: Some(taken.local_addr().unwrap().port()), ..Default::default() };
    let builder = Stack::builder().only(&[Part::Redis]).ports(ports);
    let error = builder.already_built().start().await.unwrap_err();
    let text = format!("{error:#}").to_lowercase();
    assert!(text.contains("redis stopped while starting"), "{text}");
    assert!(text.contains("address already in use"), "{text}");
}

/// Runs this test binary's `holds_a_stack` in a process of its own, kills it, and looks for its redis-server.
#[tokio::test]
async fn nothing_outlives_a_killed_owner() {
    let note = tempfile::NamedTempFile::new().unwrap();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holds_a_stack", "--ignored", "--nocapture"])
        .env("STACK_NOTE", note.path())
        .spawn()
        .unwrap();
    let mut pid = None;
    clock::wait_until(LIMIT, || {
        let text = std::fs::read_to_string(note.path()).unwrap_or_default();
        pid = text.strip_suffix('\n').and_then(|text| text.parse::<u32>().ok());
        pid.is_some()
    });
    let pid = pid.unwrap();
    assert!(lives(pid));
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(clock::wait_until(LIMIT, || !lives(pid)), "{pid} is left");
}

#[tokio::test]
#[ignore = "started by `nothing_outlives_a_killed_owner`"]
async fn holds_a_stack() {
    let Some(note) = std::env::var_os("STACK_NOTE") else {
        return;
    };
    let stack = redis_only().await;
    let pid = stack.process(Part::Redis).unwrap().pid().unwrap();
    std::fs::write(note, format!("{pid}\n")).unwrap();
    std::future::pending::<()>().await;
}
