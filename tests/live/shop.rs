//! Where orders are really placed: all parts, with sales on offer, and a look into SQL.

use std::time::Duration;

use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, FromQueryResult, Statement};
use xtask::clock;
use xtask::stack::{AppendFsync, Builder, Sale, Stack};

use crate::http::{Answer, Call, Edge};
use crate::mode::stack;

/// An order as SQL has it.
#[derive(Clone, Debug, PartialEq, FromQueryResult)]
pub struct Row {
    pub id: String,
    pub request_id: String,
    pub sku: String,
    pub user_id: String,
    pub quantity: i64,
    pub amount: i64,
    pub status: String,
}

/// A whole stack.
pub struct Shop {
    pub edge: Edge,
    sql: DatabaseConnection,
    pub stack: Stack,
}

impl Shop {
    /// With these sales.
    pub async fn open(sales: &[Sale]) -> Self {
        Self::built(stack(), sales).await
    }

    pub async fn built(builder: Builder, sales: &[Sale]) -> Self {
        let stack = builder.appendfsync(AppendFsync::No).start().await.unwrap();
        for sale in sales {
            stack.create_sale(sale).await.unwrap();
        }
        let sql = Database::connect(stack.database_url()).await.unwrap();
        Self { edge: Edge::of(&stack), sql, stack }
    }

    /// An order of one unit under a new token.
    pub fn order(&self, user: &str, sku: &str) -> Call {
        self.edge.order(user, sku, &self.edge.token(user, sku))
    }

    /// An order as its owner sees it.
    pub async fn status(&self, user: &str, order: &str) -> Answer {
        self.edge.get(&format!("/v1/orders/{order}")).user(user).send().await
    }

    /// All orders in SQL.
    pub async fn rows(&self) -> Vec<Row> {
        let select = "SELECT id, request_id, sku, user_id, quantity, amount, status FROM orders ORDER BY id";
        Row::find_by_statement(self.statement(select)).all(&self.sql).await.unwrap()
    }

    /// What SQL has left to sell.
    pub async fn stock(&self, sku: &str) -> i64 {
        let select = format!("SELECT stock FROM inventory WHERE sku = '{sku}'");
        let row = self.sql.query_one_raw(self.statement(&select)).await.unwrap().unwrap();
        row.try_get("", "stock").unwrap()
    }

    /// Waits until SQL has `count` orders, and looks once more whether it has no more.
    pub async fn settled(&self, count: usize) -> Vec<Row> {
        let deadline = clock::now() + Duration::from_secs(20);
        while self.rows().await.len() < count {
            assert!(clock::now() < deadline, "{} of {count} orders are settled", self.rows().await.len());
            tokio::time::sleep(clock::POLL).await;
        }
        let rows = self.rows().await;
        assert_eq!(rows.len(), count, "{rows:?}");
        rows
    }

    fn statement(&self, text: &str) -> Statement {
        Statement::from_string(self.sql.get_database_backend(), text)
    }
}

/// The id in an answer that accepts an order.
#[track_caller]
pub fn order_id(answer: &Answer) -> String {
    answer.is(202);
    answer.json()["order_id"].as_str().unwrap().to_owned()
}
