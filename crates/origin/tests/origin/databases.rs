//! What servers do and a file never does: hang up, hang, refuse for a while. On SQLite these tests have nothing to do.

use sea_orm::DbBackend;

use crate::support::client::Order;
use crate::support::proxy::Proxy;
use crate::support::{Shop, until};

#[tokio::test]
async fn connections_that_the_server_closes_cost_no_order() {
    let shop = Shop::selling(100).await;
    if shop.sql.backend() == DbBackend::Sqlite {
        return;
    }
    let origin = shop.origin().await;
    for n in 0..40 {
        origin.client.place(&Order::by(n)).await.order_id();
        if n % 10 == 5 {
            shop.sql.hang_up().await;
        }
    }
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 40);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM dead_letters").await, 0);
    shop.assert_whole(100).await;
}

#[tokio::test]
async fn a_database_that_hangs_holds_up_neither_orders_nor_answers_and_is_found_again() {
    let shop = Shop::selling(100).await;
    if shop.sql.backend() == DbBackend::Sqlite {
        return;
    }
    let proxy = Proxy::before(&shop.sql.url).await;
    let mut config = shop.config();
    config.database.clone_from(&proxy.url);
    let origin = shop.origin_with(config).await;
    let first = origin.client.place(&Order::by("1")).await.order_id();
    shop.settled().await;

    proxy.fall_silent();
    for n in 2..12 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    // SQL alone knows it; the answer is that it cannot be had now, within seconds.
    let path = format!("/v1/orders/{first}");
    let answer = origin.client.get_as("1", &path, None);
    let answer = tokio::time::timeout(std::time::Duration::from_secs(8), answer).await.expect("an answer in time");
    assert_eq!((answer.status, answer.code()), (503, "sale_unavailable".into()));
    let ready = origin.client.get("/readyz").await;
    assert_eq!((ready.status, ready.body.contains("sql")), (503, true), "{ready:?}");

    // The old connections stay as they are: a firewall may have forgotten them.
    proxy.speak_on_new_connections();
    until("all is settled", || async { shop.orders("pending_payment").await == 11 }).await;
    shop.settled().await;
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM dead_letters").await, 0);
    shop.assert_whole(100).await;
}

#[tokio::test]
async fn a_database_that_only_reads_is_an_outage_and_no_orders_fault() {
    let shop = Shop::selling(100).await;
    if shop.sql.backend() != DbBackend::Postgres {
        return;
    }
    let origin = shop.origin().await;
    let database = shop.sql.texts("SELECT current_database()::text").await.remove(0);
    shop.sql.run(&format!("ALTER DATABASE {database} SET default_transaction_read_only = on")).await;
    shop.sql.hang_up().await;
    for n in 0..10 {
        origin.client.place(&Order::by(n)).await.order_id();
    }
    let mut looks = 0;
    loop {
        let retries = origin.counter("sluice_origin_settle_retries_total").await;
        if retries > 6 {
            break;
        }
        looks += 1;
        assert!(looks < 400, "it was not tried more than five times: {retries}");
        if retries == 0 && looks % 50 == 0 {
            // A connection that was being made at that moment may not know of it.
            shop.sql.hang_up().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let reset = format!("ALTER DATABASE {database} RESET default_transaction_read_only");
    shop.sql.run(&format!("BEGIN READ WRITE; {reset}; COMMIT")).await;
    shop.sql.hang_up().await;
    shop.settled().await;
    assert_eq!(shop.orders("pending_payment").await, 10);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM dead_letters").await, 0);
    shop.assert_whole(100).await;
}
