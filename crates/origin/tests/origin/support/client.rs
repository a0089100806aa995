//! Speaks to the origin as the edge does.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use sluice::assertion::{Assertion, Assertions, Operation};
use sluice::digest::{Tag, body_hash};
use sluice::model::Millis;
use sluice_origin::clock::Clock;

pub const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// Later than any test lasts.
pub const NEVER: u64 = 9_999_999_999_999;

/// An answer, read whole.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The order id of an accepted order.
    pub fn order_id(&self) -> String {
        assert_eq!(self.status, 202, "{self:?}");
        self.json()["order_id"].as_str().unwrap().to_owned()
    }

    /// The code of a refusal.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_else(|| panic!("no code: {self:?}")).to_owned()
    }

    /// Status, code and outcome mark of a refusal.
    pub fn refusal(&self) -> (u16, String, Option<&str>) {
        (self.status, self.code(), self.header("sluice-outcome"))
    }
}

/// One order request.
#[derive(Clone, Debug)]
pub struct Order {
    pub user: String,
    pub sku: String,
    pub quantity: u32,
    pub op: Operation,
}

impl Order {
    /// One unit of `demo` for a user, as an operation of its own and without a claim.
    pub fn by(user: impl std::fmt::Display) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let id = Tag::of(&[b"op", n.as_bytes()]).to_string();
        let op = Operation { id, claim: String::new(), owner: String::new(), not_after: NEVER };
        Self { user: user.to_string(), sku: "demo".into(), quantity: 1, op }
    }

    pub fn units(mut self, quantity: u32) -> Self {
        self.quantity = quantity;
        self
    }

    pub fn not_after(mut self, instant: u64) -> Self {
        self.op.not_after = instant;
        self
    }

    pub fn claim(mut self, key: &str, owner: &str) -> Self {
        self.op.claim = key.to_owned();
        self.op.owner = owner.to_owned();
        self
    }
}

/// A client of one origin.
#[derive(Clone, Debug)]
pub struct Client {
    pub base: String,
    http: reqwest::Client,
}

impl Client {
    pub fn new(port: u16) -> Self {
        Self { base: format!("http://127.0.0.1:{port}"), http: reqwest::Client::new() }
    }

    pub async fn place(&self, order: &Order) -> Answer {
        self.try_place(order).await.unwrap()
    }

    /// To an origin that may be gone.
    pub async fn try_place(&self, order: &Order) -> Result<Answer, reqwest::Error> {
        let body = format!("{{\"quantity\":{}}}", order.quantity);
        let assertion = Assertion {
            sub: Some(order.user.clone()),
            ip: None,
            sku: Some(order.sku.clone()),
            mtd: "POST".into(),
            pth: format!("/v1/sales/{}/orders", order.sku),
            bdy: body_hash(body.as_bytes()),
            op: Some(order.op.clone()),
        };
        self.try_send("POST", &assertion.pth, Some(&sign(&assertion)), &body).await
    }

    /// A GET by a user, about a sale or about none.
    pub async fn get_as(&self, user: &str, path: &str, sku: Option<&str>) -> Answer {
        let assertion = Assertion {
            sub: Some(user.into()),
            ip: None,
            sku: sku.map(Into::into),
            mtd: "GET".into(),
            pth: path.into(),
            bdy: body_hash(b""),
            op: None,
        };
        self.send(&assertion, "").await
    }

    /// A user gives an order back.
    pub async fn cancel(&self, user: &str, order: &str) -> Answer {
        self.act(user, order, "cancel").await
    }

    /// A user has the payment of an order simulated.
    pub async fn pay_simulated(&self, user: &str, order: &str) -> Answer {
        self.act(user, order, "simulated-payment").await
    }

    async fn act(&self, user: &str, order: &str, what: &str) -> Answer {
        let assertion = Assertion {
            sub: Some(user.into()),
            ip: None,
            sku: None,
            mtd: "POST".into(),
            pth: format!("/v1/orders/{order}/{what}"),
            bdy: body_hash(b""),
            op: None,
        };
        self.send(&assertion, "").await
    }

    /// Sends just what an assertion says.
    pub async fn send(&self, assertion: &Assertion, body: &str) -> Answer {
        self.send_with(&assertion.mtd, &assertion.pth, Some(&sign(assertion)), body).await
    }

    pub async fn send_with(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> Answer {
        self.try_send(method, path, token, body).await.unwrap()
    }

    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &str,
    ) -> Result<Answer, reqwest::Error> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.header("sluice-assertion", token);
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: response.text().await? })
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send_with("GET", path, None, "").await
    }
}

fn sign(assertion: &Assertion) -> String {
    Assertions::new(SECRET).unwrap().sign(assertion.clone(), now())
}

/// Now, as the tests see it.
pub fn now() -> Millis {
    Clock::system().now()
}
