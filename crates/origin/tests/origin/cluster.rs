//! The origin on a Redis Cluster of three masters, its sales spread over 16 partitions.

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use crate::support::client::{Client, Order};
use crate::support::{Cluster, until};

fn order(user: impl std::fmt::Display, sku: &str) -> Order {
    let mut order = Order::by(user);
    sku.clone_into(&mut order.sku);
    order
}

/// Asks until the order is accepted.
async fn accepted(client: &Client, order: &Order) -> String {
    until("the order is accepted", || async { client.place(order).await.status == 202 }).await;
    client.place(order).await.order_id()
}

#[tokio::test]
async fn orders_are_taken_settled_and_given_back_on_every_master() {
    let shop = Cluster::start().await;
    let skus = shop.sell_everywhere(10).await;
    assert_eq!(skus.iter().map(|sku| shop.master_of(sku)).collect::<BTreeSet<_>>().len(), 3);
    for (p, sku) in shop.keys.partitions().zip(&skus) {
        let key = shop.keys.seq(p);
        let slot: u16 = shop.masters[0].ask(&format!("CLUSTER KEYSLOT {key}")).await;
        assert_eq!(slot, shop.keys.slot(p), "{sku}");
    }
    let origin = shop.origin().await;
    let mut buying = JoinSet::new();
    for sku in &skus {
        // Twelve ask for ten units.
        for n in 0..12 {
            let (client, order) = (origin.client.clone(), order(n, sku));
            buying.spawn(async move {
                let (first, second) = (client.place(&order).await, client.place(&order).await);
                assert_eq!((first.status, &first.body), (second.status, &second.body), "one operation, one answer");
                (first.status == 202).then(|| (order.sku.clone(), order.user.clone(), first.order_id()))
            });
        }
    }
    let bought: Vec<_> = buying.join_all().await.into_iter().flatten().collect();
    assert_eq!(bought.len(), 160);
    shop.quiet(160, "pending_payment").await;
    for sku in &skus {
        assert_eq!(shop.stock(sku).await, 0, "{sku}");
        shop.sql.assert_ledger_is_whole(sku).await;
        let (_, user, id) = bought.iter().find(|(sold, ..)| sold == sku).unwrap();
        assert_eq!(origin.client.cancel(user, id).await.status, 200);
    }
    shop.quiet(16, "cancelled").await;
    for sku in &skus {
        assert_eq!(shop.stock(sku).await, 1, "{sku}");
        shop.sql.assert_ledger_is_whole(sku).await;
        origin.client.place(&order("late", sku)).await.order_id();
    }
    shop.quiet(160, "pending_payment").await;
    assert_eq!(shop.report("reconcile --json").await["agrees"], true);
}

#[tokio::test]
async fn a_master_that_dies_takes_its_own_sales_with_it_and_is_recovered_when_it_is_back() {
    let mut shop = Cluster::start().await;
    let skus = shop.sell_everywhere(10).await;
    let origin = shop.origin().await;
    for sku in &skus {
        origin.client.place(&order("before", sku)).await.order_id();
    }
    shop.quiet(16, "pending_payment").await;

    shop.masters[0].kill();
    let lost: BTreeSet<&String> = skus.iter().filter(|sku| shop.master_of(sku) == 0).collect();
    let sold = i64::try_from(skus.len() - lost.len()).unwrap();
    for sku in &skus {
        let answer = origin.client.place(&order("while", sku)).await;
        if lost.contains(sku) {
            assert_eq!((answer.status, answer.code()), (503, "sale_unavailable".into()), "{sku}");
        } else {
            answer.order_id();
        }
    }
    shop.quiet(16 + sold, "pending_payment").await;
    let ready = origin.client.get("/readyz").await;
    assert_eq!(ready.status, 200, "the others sell on: {ready:?}");
    assert_eq!(ready.json()["partitions_away"].as_array().map(Vec::len), Some(lost.len()), "{ready:?}");

    // It comes back with nothing: no unit may be sold before SQL has said what is left.
    shop.masters[0].start_again().await;
    until("its partitions are back", || async {
        origin.client.get("/readyz").await.json().get("partitions_away").is_none()
    })
    .await;
    for sku in &lost {
        let answer = origin.client.place(&order("empty", sku)).await;
        assert_eq!((answer.status, answer.code()), (503, "sale_unavailable".into()), "{sku}");
    }
    let report = shop.report("recover --json").await;
    assert_eq!(report["sales"].as_array().map(Vec::len), Some(16), "{report}");
    for sku in &skus {
        assert_eq!(origin.client.place(&order("before", sku)).await.code(), "already_bought", "{sku}");
        origin.client.place(&order("after", sku)).await.order_id();
    }
    shop.quiet(32 + sold, "pending_payment").await;
    for sku in &skus {
        assert_eq!(shop.stock(sku).await, if lost.contains(sku) { 8 } else { 7 }, "{sku}");
        shop.sql.assert_ledger_is_whole(sku).await;
    }
    assert_eq!(shop.report("reconcile --json").await["agrees"], true);
}

#[tokio::test]
async fn a_partition_that_moves_to_another_master_is_followed_and_no_unit_is_lost_or_sold_twice() {
    let shop = Cluster::start().await;
    let sku = &shop.sell_everywhere(100).await[0];
    let p = shop.keys.partitions().next().unwrap();
    let (slot, from) = (shop.keys.slot(p), shop.master_of(sku));
    let (from, to) = (&shop.masters[from], &shop.masters[(from + 1) % 3]);
    let (from_id, to_id): (String, String) = (from.ask("CLUSTER MYID").await, to.ask("CLUSTER MYID").await);
    let origin = shop.origin().await;
    let first = order("0", sku);
    let id = origin.client.place(&first).await.order_id();

    to.ask::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}")).await;
    from.ask::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}")).await;
    let client = origin.client.clone();
    let buyers: Vec<Order> = (1..30).map(|n| order(n, sku)).collect();
    let buying = tokio::spawn(async move {
        for order in buyers {
            accepted(&client, &order).await;
        }
    });
    // New keys may come while it is on its way.
    loop {
        let keys: Vec<String> = from.ask(&format!("CLUSTER GETKEYSINSLOT {slot} 100")).await;
        if keys.is_empty() {
            break;
        }
        for key in keys {
            from.ask::<String>(&format!("MIGRATE 127.0.0.1 {} {key} 0 5000", to.port)).await;
        }
    }
    for master in [to, from] {
        master.ask::<()>(&format!("CLUSTER SETSLOT {slot} NODE {to_id}")).await;
    }
    buying.await.unwrap();
    assert_eq!(origin.client.place(&first).await.order_id(), id, "still the same operation");
    shop.quiet(30, "pending_payment").await;
    let stock: i64 = to.ask(&format!("GET {}", shop.keys.stock(&sluice::model::Sku::parse(sku).unwrap()))).await;
    assert_eq!(stock, 70);
    shop.sql.assert_ledger_is_whole(sku).await;
    assert_eq!(shop.report("reconcile --json").await["agrees"], true);
}
