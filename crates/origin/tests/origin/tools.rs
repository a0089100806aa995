//! The command line.

use crate::support::Shop;

fn json(output: &std::process::Output) -> serde_json::Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

const CREATE: &str = "sale create --sku demo --title Demo --price 1999 --stock 100";

#[tokio::test]
async fn a_sale_is_created_once_and_its_ledger_begins_with_its_stock() {
    let shop = Shop::new().await;
    let made = json(&shop.tool(&format!("{CREATE} --starts-at now --ends-at +2h --currency USD --json")).await);
    assert_eq!((made["state"].as_str(), made["redis_stock"].as_i64()), (Some("open"), Some(100)));
    let length = made["ends_at"].as_u64().unwrap() - made["starts_at"].as_u64().unwrap();
    assert_eq!(length, 7_200_000);
    shop.sql.assert_ledger_is_whole("demo").await;

    let again = shop.tool(CREATE).await;
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("already"), "{again:?}");
    let same = json(&shop.tool(&format!("{CREATE} --if-missing --json")).await);
    assert_eq!(same, made);
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM inventory_log").await, 1);

    let all = json(&shop.tool("sale list --json").await);
    assert_eq!(all, serde_json::json!([made]));
    let table = shop.tool("sale list").await;
    assert!(String::from_utf8_lossy(&table.stdout).contains("demo"), "{table:?}");
    assert_eq!(json(&shop.tool("sale show demo --json").await), made);
    assert_eq!(shop.tool("sale show other").await.status.code(), Some(1));
}

#[tokio::test]
async fn bad_arguments_are_named_and_nothing_is_written() {
    let shop = Shop::new().await;
    for (line, code) in [
        ("sale create --sku a/b --title T --price 1 --stock 1", 2),
        ("sale create --sku a --title T --price -1 --stock 1", 2),
        ("sale create --sku a --title T --price 1.5 --stock 1", 2),
        ("sale create --sku a --title T --price 1 --stock 0", 2),
        ("sale create --sku a --title T --price 1 --stock 1 --per-user 0", 2),
        ("sale create --sku a --title T --price 1 --stock 1 --currency cny", 2),
        ("sale create --sku a --title T --price 1 --stock 1 --starts-at tomorrow", 2),
        ("sale create --sku a --title T --price 1 --stock 1 --starts-at +2h --ends-at now", 1),
        ("sale create --sku a --title T --price 1 --stock 1 --ends-at 2020-01-01T00:00:00Z", 1),
        ("sale pause none", 1),
    ] {
        let done = shop.tool(line).await;
        assert_eq!(done.status.code(), Some(code), "{line}: {done:?}");
        assert!(!done.stderr.is_empty(), "{line}");
    }
    for table in ["sales", "inventory", "inventory_log", "outbox"] {
        assert_eq!(shop.sql.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
    }
    assert_eq!(shop.redis.ask::<i64>("DBSIZE").await, 0);
}

#[tokio::test]
async fn without_redis_nothing_is_created() {
    let shop = Shop::new().await;
    let done = shop.tool(&format!("{CREATE} --redis redis://127.0.0.1:1")).await;
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM sales").await, 0);
}

#[tokio::test]
async fn stock_that_redis_has_and_sql_does_not_know_is_left_alone() {
    let shop = Shop::selling(7).await;
    for table in ["sales", "inventory", "inventory_log"] {
        shop.sql.run(&format!("DELETE FROM {table}")).await;
    }
    assert_eq!(shop.tool(CREATE).await.status.code(), Some(1));
    assert_eq!(shop.sql.number("SELECT COUNT(*) FROM sales").await, 0);
    assert_eq!(shop.stock().await, 7);
}

#[tokio::test]
async fn two_that_start_on_an_empty_database_agree_on_its_schema() {
    let shop = Shop::new().await;
    let fresh = shop.sql.empty().await;
    let line = format!("migrate --database {fresh}");
    let (one, two, three) = tokio::join!(shop.tool(&line), shop.tool(&line), shop.tool(&line));
    for done in [one, two, three] {
        assert!(done.status.success(), "{done:?}");
    }
}

#[tokio::test]
async fn a_changed_number_of_partitions_is_refused() {
    let shop = Shop::new().await;
    let mut moved = false;
    for n in 0..8 {
        let line = format!("sale create --sku s{n} --title T --price 1 --stock 1");
        assert!(shop.tool(&line).await.status.success());
        moved |= shop.tool("sale list --partitions 16").await.status.code() == Some(1);
    }
    assert!(moved);
}

#[tokio::test]
async fn a_revoked_jwt_is_marked_in_every_partition_for_as_long_as_was_said() {
    let shop = Shop::new().await;
    let keys = sluice::script::keys::Keyspace::new("sl1", 3);
    let done = shop.tool("jwt revoke a-jti --for 1h --partitions 3").await;
    assert!(done.status.success(), "{done:?}");
    for p in keys.partitions() {
        let left: i64 = shop.redis.ask(&format!("PTTL {}", keys.revoked(p, "a-jti"))).await;
        assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    }
    assert_eq!(shop.redis.ask::<i64>("DBSIZE").await, 3);
    for bad in ["jwt revoke a-jti", "jwt revoke a-jti --for 0s", "jwt revoke a-jti --for 40d"] {
        assert_eq!(shop.tool(bad).await.status.code(), Some(2), "{bad}");
    }
    assert_eq!(shop.redis.ask::<i64>("DBSIZE").await, 3);
}
