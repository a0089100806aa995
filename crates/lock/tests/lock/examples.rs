//! The examples, run as they are.

use crate::support::{Server, ms};
use futures_util::future::join_all;
use sluice_lock::{Lost, Turn};

macro_rules! examples {
    ($($name:ident = $path:literal;)+) => {
        $(#[path = $path]
        #[allow(dead_code, reason = "its `main` is for people")]
        mod $name;)+
    };
}

examples! {
    fair = "../../examples/fair.rs";
    fencing = "../../examples/fencing.rs";
    job = "../../examples/job.rs";
    monitor = "../../examples/monitor.rs";
    redlock = "../../examples/redlock.rs";
    reentrant = "../../examples/reentrant.rs";
    simple = "../../examples/simple.rs";
    watchdog = "../../examples/watchdog.rs";
}

#[tokio::test]
async fn simple_has_one_holder_at_a_time() {
    let server = Server::start().await;
    assert_eq!(simple::run(&server.url()).await.unwrap(), (true, true));
}

#[tokio::test]
async fn watchdog_outlasts_its_lease_and_stops_what_lost_it() {
    let server = Server::start().await;
    assert_eq!(watchdog::run(&server.url()).await.unwrap(), (Ok("imported"), Err(Lost)));
}

#[tokio::test]
async fn reentrant_is_free_after_its_last_level() {
    let server = Server::start().await;
    assert_eq!(reentrant::run(&server.url()).await.unwrap(), (true, true));
}

#[tokio::test]
async fn fair_serves_in_the_order_of_coming() {
    let server = Server::start().await;
    assert_eq!(fair::run(&server.url()).await.unwrap(), [1, 2, 3]);
}

#[tokio::test]
async fn redlock_is_held_for_less_than_its_ttl_and_by_one() {
    let servers = join_all((0..3).map(|_| Server::start())).await;
    let urls: Vec<String> = servers.iter().map(Server::url).collect();
    let (held, refused) = redlock::run(&urls).await.unwrap();
    assert!(held < ms(10_000) && refused, "{held:?}");
}

#[tokio::test]
async fn fencing_refuses_a_holder_that_lost_its_lease() {
    let server = Server::start().await;
    assert_eq!(fencing::run(&server.url()).await.unwrap(), (true, false));
}

#[tokio::test]
async fn monitor_tells_what_is_held_too_long_and_what_has_no_end() {
    let server = Server::start().await;
    let (too_long, found, text) = monitor::run(&server.url()).await.unwrap();
    assert_eq!((too_long, found), (1, vec!["example-monitor:lock:{stray}".to_owned()]));
    for line in ["shop_lock_keys_without_ttl 1", "shop_lock_held_too_long_total{kind=\"simple\"} 1"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[tokio::test]
async fn job_is_done_once() {
    let server = Server::start().await;
    assert_eq!(job::run(&server.url()).await.unwrap(), (Turn::Done("done once"), Turn::Elsewhere));
}
