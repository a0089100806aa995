//! Buyers who click, click again, come back without an answer, pay, and give back; as the edge would send them on.

use super::crowd::{Buyer, Crowd, Then};
use super::gateway::{Gateway, Verdict};
use super::random::Random;
use super::tally::{Tally, Told};
use crate::clock;
use anyhow::Result;
use serde_json::Value;
use sluice::assertion::{Assertion, Assertions, HEADER, Operation};
use sluice::digest::body_hash;
use sluice::model::Millis;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a client waits for an answer: an origin that is stopped gives none.
const ANSWER: Duration = Duration::from_millis(2_500);
/// And how long the origin may put an order off: shorter, so that the outcome is certain soon.
const NOT_AFTER: u64 = 2_000;

/// What all clients of one schedule share.
#[derive(Debug)]
pub struct Clients {
    /// The origins, without a slash at the end. A client that gets no answer asks another one.
    pub origins: Vec<String>,
    /// Signs assertions.
    pub assertions: Assertions,
    /// Tells of payments.
    pub gateway: Gateway,
    /// The sale.
    pub sku: String,
    /// What they were told.
    pub tally: Tally,
    /// When they began.
    pub begun: Instant,
    /// How long they wait between two attempts.
    pub pause: Duration,
    /// Since when nothing is broken any more; who has no answer `patience` later gives up.
    pub mended: watch::Receiver<Option<Instant>>,
    /// How long that is.
    pub patience: Duration,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status; 0 when there was no answer.
    pub status: u16,
    /// The body, where it is JSON.
    pub body: Value,
}

impl Answer {
    pub(super) fn text(&self, field: &str) -> String {
        self.body.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Clients {
    /// Everybody comes, and this returns when the last one has left.
    ///
    /// # Errors
    /// When a client panics.
    pub async fn come(self: &Arc<Self>, crowd: &Crowd) -> Result<()> {
        let mut all = JoinSet::new();
        for (place, buyer) in crowd.buyers.iter().enumerate() {
            let (op, user, buyer) = (crowd.op(place), crowd.user(buyer.user), buyer.clone());
            all.spawn(Arc::clone(self).buyer(op, user, buyer, Random::new(crowd.seed, 100 + place as u64)));
        }
        while let Some(done) = all.join_next().await {
            done?;
        }
        Ok(())
    }

    async fn buyer(self: Arc<Self>, op: String, user: String, buyer: Buyer, mut random: Random) {
        tokio::time::sleep(Duration::from_millis(buyer.at)).await;
        let mut clicks = JoinSet::new();
        for _ in 0..buyer.clicks {
            let (this, op, user, first) = (Arc::clone(&self), op.clone(), user.clone(), random.next());
            clicks.spawn(async move { this.place(&op, &user, buyer.quantity, first).await });
        }
        let mut order = None;
        while let Some(clicked) = clicks.join_next().await {
            order = clicked.ok().flatten().or(order);
        }
        let Some(order) = order else { return };
        tokio::time::sleep(Duration::from_millis(buyer.after)).await;
        let told = |verdict| self.gateway.tell(&self, &order, buyer.quantity, verdict);
        match buyer.then {
            Then::Leave => {}
            Then::Pay(times) => {
                futures_util::future::join_all((0..times).map(|_| told(Verdict::Paid))).await;
            }
            Then::FailToPay => told(Verdict::Failed).await,
            Then::FailThenPay => {
                tokio::join!(told(Verdict::Failed), told(Verdict::Paid));
            }
            Then::Cancel(times) => {
                futures_util::future::join_all((0..times).map(|_| self.cancel(&user, &order))).await;
            }
            Then::CancelAndPay => {
                tokio::join!(self.cancel(&user, &order), told(Verdict::Paid));
            }
            Then::Forge => told(Verdict::Forged).await,
        }
    }

    /// Places an order under an op id until there is an answer; the order id when it was accepted.
    pub async fn place(&self, op: &str, user: &str, quantity: u32, first: u64) -> Option<String> {
        let mut attempt = first;
        loop {
            let answer = self.try_place(op, user, quantity, attempt).await;
            let code = answer.text("code");
            match answer.status {
                202 => {
                    let order = answer.text("order_id");
                    self.told(Told::Accepted { op: op.to_owned(), order: order.clone() });
                    return Some(order);
                }
                200..500 => {
                    self.told(Told::Refused { op: op.to_owned(), code });
                    return None;
                }
                _ => {}
            }
            attempt = attempt.wrapping_add(1);
            if !self.again().await {
                self.told(Told::GaveUp { what: format!("order {op}: {} {code}", answer.status), order: None });
                return None;
            }
        }
    }

    async fn try_place(&self, op: &str, user: &str, quantity: u32, attempt: u64) -> Answer {
        let body = format!("{{\"quantity\":{quantity}}}");
        let operation = Operation {
            id: op.to_owned(),
            claim: String::new(),
            owner: String::new(),
            not_after: clock::unix_ms() + NOT_AFTER,
        };
        let path = format!("/v1/sales/{}/orders", self.sku);
        self.post(&path, user, Some(&self.sku), Some(operation), body, attempt).await
    }

    /// The owner gives an order back, until it is, or cannot be any more.
    async fn cancel(&self, user: &str, order: &str) {
        let mut attempt = 0;
        loop {
            let path = format!("/v1/orders/{order}/cancel");
            let answer = self.post(&path, user, None, None, String::new(), attempt).await;
            let (status, code) = (answer.text("status"), answer.text("code"));
            match (answer.status, status.as_str()) {
                (200, "cancelled") => return self.told(Told::Cancelled { order: order.to_owned() }),
                (409, "paid" | "failed") => return,
                _ => {}
            }
            attempt += 1;
            if !self.again().await {
                let what = format!("cancel {order}: {} {code}{status}", answer.status);
                return self.told(Told::GaveUp { what, order: Some(order.to_owned()) });
            }
        }
    }

    async fn post(
        &self,
        path: &str,
        user: &str,
        sku: Option<&str>,
        op: Option<Operation>,
        body: String,
        attempt: u64,
    ) -> Answer {
        let assertion = Assertion {
            sub: Some(user.to_owned()),
            ip: None,
            sku: sku.map(str::to_owned),
            mtd: "POST".to_owned(),
            pth: path.to_owned(),
            bdy: body_hash(body.as_bytes()),
            op,
        };
        let token = self.assertions.sign(assertion, Millis(clock::unix_ms()));
        let mut request = self.request(path, attempt).header(HEADER, token);
        if !body.is_empty() {
            request = request.header("content-type", "application/json").body(body);
        }
        self.send(request).await
    }

    /// A request to one of the origins.
    pub(super) fn request(&self, path: &str, attempt: u64) -> reqwest::RequestBuilder {
        let count = self.origins.len().max(1) as u64;
        let base = self.origins.get(usize::try_from(attempt % count).unwrap_or(0)).map_or("", String::as_str);
        self.gateway.http.post(format!("{base}{path}")).timeout(ANSWER)
    }

    /// The answer to it.
    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let none = Answer { status: 0, body: Value::Null };
        let Ok(answer) = request.send().await else { return none };
        let status = answer.status().as_u16();
        // Half an answer is none.
        let Ok(body) = answer.bytes().await else { return none };
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        Answer { status, body: serde_json::from_slice(&body).unwrap_or_else(|_| text()) }
    }

    /// Waits before the next attempt; false when it is time to give up.
    pub(super) async fn again(&self) -> bool {
        tokio::time::sleep(self.pause).await;
        let mended = *self.mended.borrow();
        mended.is_none_or(|at| clock::now() < at + self.patience)
    }

    pub(super) fn told(&self, told: Told) {
        self.tally.add(self.elapsed(), told);
    }

    /// Ms since the start.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
