//! What a payment gateway tells, and how it is known to be the gateway.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;
use sluice::model::{Millis, OrderId};

/// How far a delivery's time may be from ours.
pub(crate) const WINDOW: Millis = Millis::from_secs(300);

/// Shared secrets; all verify.
#[derive(Clone)]
pub struct Secrets(Vec<Hmac<Sha256>>);

impl Secrets {
    /// From a comma-separated list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(list: &str) -> Result<Self, &'static str> {
        let secrets = list.split(',').map(|secret| {
            if secret.len() < 32 {
                return Err("a secret has at least 32 bytes");
            }
            Hmac::new_from_slice(secret.as_bytes()).map_err(|_| "a secret is no good as a key")
        });
        secrets.collect::<Result<_, _>>().map(Self)
    }

    /// Whether `signature` is the HMAC-SHA-256, in hexadecimal, of the timestamp's text, a dot and the body.
    #[must_use]
    pub fn verify(&self, timestamp: &str, body: &[u8], signature: &str) -> bool {
        let Some(signature) = from_hex(signature) else { return false };
        self.0.iter().any(|key| over(key, timestamp, body).verify_slice(&signature).is_ok())
    }

    /// The signature by the first secret, in hexadecimal.
    #[must_use]
    pub fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        let signed = self.0.first().map(|key| over(key, timestamp, body).finalize().into_bytes());
        signed.iter().flatten().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

fn over(key: &Hmac<Sha256>, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|n| u8::try_from(n).ok())).collect();
    let digits = digits?;
    if digits.len() % 2 != 0 {
        return None;
    }
    Some(digits.chunks_exact(2).filter_map(|pair| Some(pair.first()? << 4 | pair.last()?)).collect())
}

/// Whether a delivery is of now.
pub(crate) fn is_fresh(timestamp: Millis, now: Millis) -> bool {
    timestamp.minus(now) <= WINDOW && now.minus(timestamp) <= WINDOW
}

/// Whether money came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Paid,
    Failed,
}

/// One payment, as told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) number: String,
    pub(crate) order: OrderId,
    /// In the currency's smallest unit.
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) result: Verdict,
}

#[derive(Deserialize)]
struct Body {
    payment_no: String,
    order_id: String,
    amount: i64,
    currency: String,
    status: Verdict,
}

impl Payment {
    /// Reads a callback's body; the error names the field that is no good.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, &'static str> {
        let body: Body = serde_json::from_slice(body).map_err(|_| "body")?;
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if body.payment_no.is_empty() || body.payment_no.len() > 64 || !visible(&body.payment_no) {
            return Err("payment_no");
        }
        if body.currency.len() != 3 || !body.currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err("currency");
        }
        Ok(Self {
            number: body.payment_no,
            order: OrderId::parse(&body.order_id).map_err(|_| "order_id")?,
            amount: body.amount,
            currency: body.currency,
            result: body.status,
        })
    }

    /// What a second telling of the same payment has in common with the first.
    pub(crate) fn essence(&self) -> String {
        format!("{}:{}:{}:{:?}", self.order, self.amount, self.currency, self.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_signature_holds_for_one_body_at_one_time_and_any_of_the_secrets() {
        let old = Secrets::parse(SECRET).unwrap();
        let both = Secrets::parse(&format!("another-secret-0123456789abcdef01,{SECRET}")).unwrap();
        let signature = old.sign("1700000000000", b"{}");
        assert!(both.verify("1700000000000", b"{}", &signature));
        assert!(both.verify("1700000000000", b"{}", &signature.to_uppercase()));
        for (time, body, signature) in [
            ("1700000000001", &b"{}"[..], signature.as_str()),
            ("1700000000000", b"{ }", &signature),
            ("1700000000000", b"{}", &signature[1..]),
            ("1700000000000", b"{}", &signature[2..]),
            ("1700000000000", b"{}", ""),
            ("1700000000000", b"{}", "zz"),
        ] {
            assert!(!both.verify(time, body, signature), "{time} {signature}");
        }
        assert!(Secrets::parse("short").is_err() && Secrets::parse(&format!("{SECRET},")).is_err());
    }

    #[test]
    fn a_signature_is_the_hmac_that_others_compute() {
        // printf '1700000000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
        let want = "3a3e8a9bf5d4cc393ea7a94bd1c4fac763d91dbd8331c03e49a25b9d069738cd";
        assert_eq!(Secrets::parse(SECRET).unwrap().sign("1700000000000", b"{}"), want);
    }

    #[test]
    fn both_edges_of_the_window() {
        let now = Millis(1_000_000);
        let fresh = |at| is_fresh(Millis(at), now);
        assert_eq!([699_999, 700_000, 1_300_000, 1_300_001].map(fresh), [false, true, true, false]);
    }

    #[test]
    fn a_bad_field_is_named() {
        let body = |number: &str, order: &str, currency: &str, status: &str| {
            let text = format!(
                r#"{{"payment_no":"{number}","order_id":"{order}","amount":1,"currency":"{currency}","status":"{status}"}}"#
            );
            Payment::parse(text.as_bytes())
        };
        const ID: &str = "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B";
        assert!(body("P1", ID, "CNY", "paid").is_ok());
        assert_eq!(body("", ID, "CNY", "paid"), Err("payment_no"));
        assert_eq!(body("a b", ID, "CNY", "paid"), Err("payment_no"));
        assert_eq!(body(&"x".repeat(65), ID, "CNY", "paid"), Err("payment_no"));
        assert_eq!(body("P1", "x", "CNY", "paid"), Err("order_id"));
        assert_eq!(body("P1", ID, "cny", "paid"), Err("currency"));
        assert_eq!(body("P1", ID, "CNY", "maybe"), Err("body"));
    }
}
