//! A simulated payment gateway: it repeats what it tells until it is heard, tells twice at once, and has impostors.

use super::clients::Clients;
use super::judge::FORGED;
use super::tally::Told;
use crate::clock;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The price of one unit in every schedule.
pub const PRICE: i64 = 1999;

/// What it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Money came.
    Paid,
    /// None came.
    Failed,
    /// Nothing of it is true: an impostor.
    Forged,
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    /// The secret that it shares with the origin.
    pub secret: String,
    /// Its connections.
    pub http: reqwest::Client,
}

impl Gateway {
    /// Tells of an order until it reads SUCCESS; an impostor tries once.
    pub async fn tell(&self, clients: &Clients, order: &str, quantity: u32, verdict: Verdict) {
        let (number, status) = match verdict {
            Verdict::Paid => (format!("pay-{order}"), "paid"),
            Verdict::Failed => (format!("pay-{order}"), "failed"),
            Verdict::Forged => (format!("{FORGED}{order}"), "paid"),
        };
        let amount = PRICE * i64::from(quantity);
        let body = format!(
            r#"{{"payment_no":"{number}","order_id":"{order}","amount":{amount},"currency":"CNY","status":"{status}"}}"#
        );
        let mut attempt = 0;
        loop {
            let timestamp = clock::unix_ms().to_string();
            let secret = if verdict == Verdict::Forged { "an-impostor-does-not-know-the-secret" } else { &self.secret };
            let request = clients
                .request("/v1/payments/callback", attempt)
                .header("payment-timestamp", &timestamp)
                .header("payment-signature", sign(secret, &timestamp, &body))
                .body(body.clone());
            let answer = clients.send(request).await;
            let believed = answer.body.as_str() == Some("SUCCESS");
            let (number, order) = (number.clone(), order.to_owned());
            match (believed, verdict) {
                (true, Verdict::Paid) => return clients.told(Told::Paid { number, order }),
                (true, Verdict::Failed) => return clients.told(Told::NotPaid { number, order }),
                (true, Verdict::Forged) => return clients.told(Told::Believed { order }),
                (false, Verdict::Forged) => return,
                (false, _) => {}
            }
            attempt += 1;
            if !clients.again().await {
                let what = format!("payment {number}: {} {}", answer.status, answer.body);
                return clients.told(Told::GaveUp { what, order: Some(order) });
            }
        }
    }
}

/// HMAC-SHA-256 over the timestamp, a dot and the body, in hexadecimal.
fn sign(secret: &str, timestamp: &str, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
