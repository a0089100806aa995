//! A small client of the edge: requests as a browser behind Cloudflare would send them, and answers read whole.

mod answer;

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, redirect};
use sluice::model::{Millis, Sku, User};
use sluice::token::OrderTokens;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use xtask::stack::{Secrets, Stack};
use xtask::{clock, user};

pub use self::answer::Answer;

/// The address of a client that names no other.
pub const IP: &str = "203.0.113.1";
/// The plainest order.
pub const ONE: &str = r#"{"quantity":1}"#;

/// A client of one edge, which also holds the secrets, to sign what a user would have been given.
#[derive(Clone)]
pub struct Edge {
    base: String,
    http: reqwest::Client,
    secrets: Secrets,
}

impl Edge {
    pub fn of(stack: &Stack) -> Self {
        let http = reqwest::Client::builder().no_proxy().redirect(redirect::Policy::none());
        let http = http.timeout(Duration::from_secs(20)).build().unwrap();
        Self { base: stack.edge_url(), http, secrets: stack.secrets().clone() }
    }

    pub fn call(&self, method: &str, path: &str) -> Call {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let call = Call { edge: self.clone(), method, path: path.to_owned(), headers: HeaderMap::new(), body: None };
        call.ip(IP)
    }

    pub fn get(&self, path: &str) -> Call {
        self.call("GET", path)
    }

    /// Asks for an order token.
    pub fn issue(&self, user: &str, sku: &str) -> Call {
        self.call("POST", &format!("/v1/sales/{sku}/token")).user(user)
    }

    /// An order of one unit under `token`.
    pub fn order(&self, user: &str, sku: &str, token: &str) -> Call {
        self.call("POST", &format!("/v1/sales/{sku}/orders")).user(user).token(token).json(ONE)
    }

    /// An order token as the edge would issue it, without asking the edge.
    pub fn token(&self, user: &str, sku: &str) -> String {
        self.token_until(user, sku, clock::unix_ms() + 600_000)
    }

    /// An order token that ends at a given time.
    pub fn token_until(&self, user: &str, sku: &str, ends: u64) -> String {
        let mut id = [0; 16];
        getrandom::fill(&mut id).unwrap();
        let tokens = OrderTokens::new(&self.secrets.order_token).unwrap();
        tokens.issue(id, &User::parse(user).unwrap(), &Sku::parse(sku).unwrap(), Millis(ends))
    }

    pub fn jwt(&self, user: &str) -> String {
        user::jwt(&self.secrets.user_jwt, user, Duration::from_secs(600)).unwrap()
    }

    /// Sends bytes as they are on a connection of their own, and reads the answer to its end.
    /// They must ask for `Connection: close`.
    pub async fn raw(&self, bytes: &[u8]) -> Answer {
        let address = self.base.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let ended = tokio::time::timeout(Duration::from_secs(10), read).await;
        // A reset after the answer is an end too: the server need not read a body that it refused.
        let _ = ended.unwrap_or_else(|_| panic!("no end after {:?}", String::from_utf8_lossy(&answer)));
        Answer::parse(&answer)
    }

    /// A request by its head, for [`Edge::raw`]: the lines after the first, without `Host` and `Connection`.
    pub fn head(&self, first: &str, lines: &[&str]) -> Vec<u8> {
        let mut head = format!("{first} HTTP/1.1\r\nhost: edge\r\nconnection: close\r\n");
        for line in lines {
            head.push_str(line);
            head.push_str("\r\n");
        }
        (head + "\r\n").into_bytes()
    }
}

/// A request in the making. A header that is set again replaces the first.
#[derive(Clone)]
pub struct Call {
    edge: Edge,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Call {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap());
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub fn ip(self, ip: &str) -> Self {
        self.header("cf-connecting-ip", ip)
    }

    pub fn user(self, user: &str) -> Self {
        let jwt = self.edge.jwt(user);
        self.bearer(&jwt)
    }

    pub fn bearer(self, jwt: &str) -> Self {
        self.header("authorization", &format!("Bearer {jwt}"))
    }

    pub fn token(self, token: &str) -> Self {
        self.header("sluice-order-token", token)
    }

    pub fn json(self, body: &str) -> Self {
        self.header("content-type", "application/json").body(body.as_bytes())
    }

    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_vec());
        self
    }

    pub async fn send(self) -> Answer {
        self.try_send().await.unwrap()
    }

    /// Sends it again while the first attempt is under way (the gate finishes a claim after it has answered), or while
    /// the machine is too busy for the deadline of Redis.
    pub async fn settled(self) -> Answer {
        let deadline = clock::now() + Duration::from_secs(10);
        loop {
            let answer = self.clone().send().await;
            if !matches!(answer.code().as_str(), "in_progress" | "degraded") || clock::now() >= deadline {
                return answer;
            }
            tokio::time::sleep(clock::POLL).await;
        }
    }

    pub async fn try_send(self) -> reqwest::Result<Answer> {
        let url = format!("{}{}", self.edge.base, self.path);
        let mut request = self.edge.http.request(self.method, url).headers(self.headers);
        if let Some(body) = self.body {
            request = request.body(body);
        }
        let answer = request.send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Answer { status, headers, body: answer.bytes().await?.to_vec() })
    }
}
