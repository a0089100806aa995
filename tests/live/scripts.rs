//! Scripts that vanish while many call them: each call is answered as if nothing had happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice::admit::{Charge, Verdict};
use sluice::model::{Cost, Quota};
use sluice::script::admit::{self, Call};
use sluice_upstash::Client;
use sluice_upstash::transport::Reqwest;
use xtask::stack::{AppendFsync, Part};

use crate::mode::stack;
use crate::scene::calls;
use crate::support::connect;

const CALLERS: u32 = 8;
const EACH: u32 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn r_rate_limit_redis_144_scripts_flushed_under_a_rush_change_no_verdict() {
    let only = [Part::Redis, Part::Bridge];
    let stack = stack().only(&only).appendfsync(AppendFsync::No).already_built().start().await.unwrap();
    let client = Arc::new(Client::new(Reqwest::new(&stack.bridge_url(), &stack.secrets().bridge).unwrap()));
    let done = Arc::new(AtomicBool::new(false));
    let flushing = tokio::task::spawn_blocking({
        let (mut redis, done) = (connect(&stack), Arc::clone(&done));
        move || {
            while !done.load(Ordering::Relaxed) {
                redis::cmd("SCRIPT").arg("FLUSH").exec(&mut redis).unwrap();
            }
        }
    });
    // Half of the calls fit.
    let burst = CALLERS * EACH / 2;
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let charge = Charge { quota: Quota::parse(burst, "1/d").unwrap(), cost: Cost(1) };
                let call = Call { buckets: vec![("b".to_owned(), charge)], ..Call::default() };
                let mut admitted = 0;
                for _ in 0..EACH {
                    let (keys, args) = (call.keys(), call.args());
                    let reply = client.eval(&admit::SCRIPT, &keys, &args, || Duration::from_secs(20)).await.unwrap();
                    match admit::parse(reply).unwrap().verdict {
                        Verdict::Admitted { .. } => admitted += 1,
                        Verdict::Limited { .. } => {}
                        other => panic!("{other:?}"),
                    }
                }
                admitted
            })
        })
        .collect();
    let mut admitted = 0;
    for caller in callers {
        admitted += caller.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    flushing.await.unwrap();
    assert_eq!(admitted, burst, "each call was judged once, and none twice");
    let mut redis = connect(&stack);
    assert!(calls(&mut redis, "eval") > 1, "the script was sent in full again and again");
    assert_eq!(calls(&mut redis, "script|load"), 0, "r_ratelimit_js_pr137");
}
