//! One user's way through the sale: a token, then two clicks at once.

use super::click::{Answer, Raw, pause};
use super::plan::{Kind, Shopper};
use super::target::Target;
use crate::{clock, user};
use anyhow::{Context, Result};
use sluice::model::{Millis, Sku, User};
use sluice::token::OrderTokens;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a user tries before they give up.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(15);

/// What all users share.
#[derive(Debug)]
pub(super) struct Shop {
    client: reqwest::Client,
    sale: String,
    sku: Sku,
    user_secret: String,
    tokens: OrderTokens,
    forger: OrderTokens,
    slots: Arc<Semaphore>,
}

impl Shop {
    pub(super) fn new(target: &Target, sku: &str, slots: Arc<Semaphore>) -> Result<Self> {
        let secrets = target.secrets();
        let keys = |secret: &str| OrderTokens::new(secret).context("the order token secret cannot sign");
        Ok(Self {
            client: reqwest::Client::builder().no_proxy().timeout(REQUEST_LIMIT).build()?,
            sale: format!("{}/v1/sales/{sku}", target.edge()),
            sku: Sku::parse(sku).context("the sale's name")?,
            user_secret: secrets.user_jwt.clone(),
            tokens: keys(&secrets.order_token)?,
            forger: keys("a secret that the edge has never seen before")?,
            slots,
        })
    }
}

/// What became of a user.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) user: String,
    pub(super) kind: Kind,
    /// Every answer to an order request, with its latency.
    pub(super) answers: Vec<(Answer, Duration)>,
    /// Token requests that were limited.
    pub(super) tokens_limited: u64,
    /// All requests that were sent.
    pub(super) requests: u64,
    /// What went wrong below HTTP.
    pub(super) faults: Vec<String>,
    /// Whether both clicks came to a final answer.
    pub(super) finished: bool,
}

/// Goes through the sale.
pub(super) async fn shop(shop: Arc<Shop>, shopper: Shopper) -> Visit {
    let mut visit = Visit::new(&shopper);
    match token(&shop, &shopper, &mut visit).await {
        Ok(Some((jwt, token))) => {
            let click = || clicks(&shop, &shopper, &jwt, &token);
            let (one, other) = tokio::join!(click(), click());
            visit.finished = one.finished && other.finished;
            for clicks in [one, other] {
                visit.requests += clicks.requests;
                visit.answers.extend(clicks.answers);
                visit.faults.extend(clicks.faults);
            }
        }
        Ok(None) => visit.faults.push("no order token in time".to_owned()),
        Err(error) => visit.faults.push(format!("{error:#}")),
    }
    visit
}

impl Visit {
    fn new(shopper: &Shopper) -> Self {
        Self {
            user: shopper.user.clone(),
            kind: shopper.kind,
            answers: Vec::new(),
            tokens_limited: 0,
            requests: 0,
            faults: Vec::new(),
            finished: false,
        }
    }
}

/// The user's JWT and the token they will use.
async fn token(shop: &Shop, shopper: &Shopper, visit: &mut Visit) -> Result<Option<(String, String)>> {
    let jwt = user::jwt(&shop.user_secret, &shopper.user, Duration::from_secs(3600))?;
    let who = User::parse(&shopper.user).context("the user's name")?;
    let mut id = [0u8; 16];
    getrandom::fill(&mut id).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let now = clock::unix_ms();
    let made = match shopper.kind {
        Kind::Forged => Some(shop.forger.issue(id, &who, &shop.sku, Millis(now + 600_000))),
        Kind::Expired => Some(shop.tokens.issue(id, &who, &shop.sku, Millis(now.saturating_sub(1000)))),
        Kind::Honest => fetch_token(shop, shopper, &jwt, visit).await,
    };
    Ok(made.map(|token| (jwt, token)))
}

async fn fetch_token(shop: &Shop, shopper: &Shopper, jwt: &str, visit: &mut Visit) -> Option<String> {
    let deadline = clock::now() + PATIENCE;
    while clock::now() < deadline {
        let request = shop.client.post(format!("{}/token", shop.sale));
        let request = request.bearer_auth(jwt).header("cf-connecting-ip", shopper.ip.to_string());
        visit.requests += 1;
        let wait = match send(shop, request).await {
            Ok((raw, _)) if raw.status == 200 => {
                return raw.body.get("token").and_then(|token| token.as_str()).map(str::to_owned);
            }
            Ok((raw, _)) => {
                visit.tokens_limited += u64::from(raw.status == 429);
                if !Answer::of(&raw).is_passing() {
                    visit.faults.push(format!("token request: {} {}", raw.status, raw.body));
                    return None;
                }
                pause(&raw)
            }
            Err(fault) => {
                visit.faults.push(fault);
                pause(&Raw::default())
            }
        };
        tokio::time::sleep(wait).await;
    }
    None
}

#[derive(Default)]
struct Clicks {
    answers: Vec<(Answer, Duration)>,
    requests: u64,
    faults: Vec<String>,
    finished: bool,
}

/// One click, repeated with the same token until the answer is final, as the client library does.
async fn clicks(shop: &Shop, shopper: &Shopper, jwt: &str, token: &str) -> Clicks {
    let mut clicks = Clicks::default();
    let deadline = clock::now() + PATIENCE;
    while clock::now() < deadline {
        clicks.requests += 1;
        let mut request = shop
            .client
            .post(format!("{}/orders", shop.sale))
            .bearer_auth(jwt)
            .header("cf-connecting-ip", shopper.ip.to_string())
            .header("sluice-order-token", token)
            .json(&serde_json::json!({"quantity": 1}));
        if clicks.requests > 1 {
            request = request.header("sluice-attempt", clicks.requests.to_string());
        }
        let wait = match send(shop, request).await {
            Ok((raw, latency)) => {
                let answer = Answer::of(&raw);
                clicks.finished = !answer.is_passing();
                clicks.answers.push((answer, latency));
                pause(&raw)
            }
            Err(fault) => {
                clicks.faults.push(fault);
                pause(&Raw::default())
            }
        };
        if clicks.finished {
            break;
        }
        tokio::time::sleep(wait).await;
    }
    clicks
}

/// Sends when a slot is free. The latency does not include the wait for the slot.
async fn send(shop: &Shop, request: reqwest::RequestBuilder) -> Result<(Raw, Duration), String> {
    let Ok(_slot) = shop.slots.acquire().await else {
        return Err("the rush is over".to_owned());
    };
    let begun = clock::now();
    let answer = request.send().await.map_err(|error| format!("{error:?}"))?;
    let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
    let mut raw = Raw {
        status: answer.status().as_u16(),
        replayed: header("idempotency-replayed") == Some("true"),
        retry_after: header("retry-after").and_then(|value| value.parse().ok()),
        body: serde_json::Value::Null,
    };
    let body = answer.bytes().await.map_err(|error| format!("{error:?}"))?;
    let latency = begun.elapsed();
    raw.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok((raw, latency))
}
