//! The gate on a Redis Cluster of three masters, its sales spread over 16 partitions.

use xtask::build::Variant;
use xtask::stack::{Part, Stack};

use crate::foreign::Foreign;
use crate::http::Edge;
use crate::mode::Redis;
use crate::scene::Scene;
use crate::support::ttls;

async fn scene(variant: Variant) -> Scene {
    let builder = Stack::builder().without(Part::Origin).variant(variant).cluster(3);
    Scene::built(builder, Foreign::accepting().await).await
}

fn sku(n: usize) -> String {
    format!("sale-{n}")
}

/// User `n` buys in sale `n`, from an address of their own.
async fn buy(edge: &Edge, n: usize) -> crate::http::Answer {
    let (user, sku, ip) = (n.to_string(), sku(n), format!("10.0.0.{n}"));
    let token = edge.issue(&user, &sku).ip(&ip).send().await;
    if token.status != 200 {
        return token;
    }
    let token = token.json()["token"].as_str().unwrap().to_owned();
    edge.order(&user, &sku, &token).ip(&ip).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_partition_admits_claims_limits_and_replays() {
    for variant in Variant::ALL {
        let scene = scene(variant).await;
        for n in 0..32 {
            buy(&scene.edge, n).await.is(202);
        }
        assert_eq!(scene.origin.seen().len(), 32, "no script met keys of two slots");

        let order = scene.edge.order("42", "demo", &scene.edge.token("42", "demo"));
        order.clone().send().await.is(202);
        let replay = order.clone().settled().await;
        assert_eq!((replay.status, replay.header("idempotency-replayed")), (202, Some("true")));
        order.json(r#"{"quantity":2}"#).send().await.is_refused(422, "idempotency_mismatch", "another body");

        let mut refused = 0;
        for _ in 0..8 {
            let token = scene.edge.token("43", "demo");
            let answer = scene.edge.order("43", "demo", &token).ip("10.9.9.9").send().await;
            refused += usize::from(answer.status == 429);
        }
        assert!(refused >= 1, "a burst of 5 is a burst of 5 on a cluster");

        for url in scene.stack.cluster().unwrap().masters() {
            let keys = ttls(&mut Redis::at(&url));
            assert!(!keys.is_empty(), "sales are spread over all masters");
            // -2: it ended between the two looks.
            let forever: Vec<_> = keys.iter().filter(|(_, ttl)| *ttl == -1).collect();
            assert!(forever.is_empty(), "{forever:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_dies_takes_its_own_sales_with_it_and_no_others() {
    let scene = scene(Variant::Fetch).await;
    scene.stack.cluster().unwrap().kill(0);
    let (mut sold, mut degraded) = (0, 0);
    for n in 0..32 {
        let answer = buy(&scene.edge, n).await;
        match answer.status {
            202 => sold += 1,
            _ => {
                answer.is_refused(503, "degraded", &sku(n));
                degraded += 1;
            }
        }
    }
    assert!(sold > 0 && degraded > 0, "{sold} sold, {degraded} degraded");
    assert_eq!(scene.origin.seen().len(), sold);
}
