//! A simulated payment gateway: it repeats, reorders, delays and forges what it tells.

use sluice_origin::config::Secrets;

use super::client::{Answer, now};

pub const SECRET: &str = "gateway-secret-0123456789abcdef01";

/// What it tells, once or again.
#[derive(Clone, Debug)]
pub struct Callback {
    pub number: String,
    pub order: String,
    pub amount: i64,
    pub currency: &'static str,
    pub status: &'static str,
    /// How old the delivery is, ms; negative for one from the future.
    pub age: i64,
}

impl Callback {
    /// One unit of `demo` is paid.
    pub fn paid(number: impl std::fmt::Display, order: &str) -> Self {
        let (number, order) = (number.to_string(), order.to_owned());
        Self { number, order, amount: 1999, currency: "CNY", status: "paid", age: 0 }
    }

    /// It could not be paid.
    pub fn failed(number: &str, order: &str) -> Self {
        Self { status: "failed", ..Self::paid(number, order) }
    }

    pub fn body(&self) -> String {
        let Self { number, order, amount, currency, status, .. } = self;
        format!(
            r#"{{"payment_no":"{number}","order_id":"{order}","amount":{amount},"currency":"{currency}","status":"{status}"}}"#
        )
    }

    /// Delivers it, and returns the status and the body.
    pub async fn deliver(&self, base: &str) -> (u16, String) {
        let timestamp = i64::try_from(now().0).unwrap() - self.age;
        let signature = Secrets::parse(SECRET).unwrap().sign(&timestamp.to_string(), self.body().as_bytes());
        self.deliver_as(base, &timestamp.to_string(), &signature).await
    }

    pub async fn deliver_as(&self, base: &str, timestamp: &str, signature: &str) -> (u16, String) {
        let request = reqwest::Client::new()
            .post(format!("{base}/v1/payments/callback"))
            .header("payment-timestamp", timestamp)
            .header("payment-signature", signature)
            .body(self.body());
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let answer = Answer { status, headers, body: answer.text().await.unwrap() };
        (answer.status, answer.body)
    }
}
