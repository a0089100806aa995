//! Requests, written beforehand: distinct users and addresses, valid JWTs and tokens, so that the load costs no
//! cryptography while it is measured.

use crate::stack::Secrets;
use crate::{clock, user};
use anyhow::{Context, Result, anyhow};
use sluice::model::{Millis, Sku, User};
use sluice::token::OrderTokens;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long what is prepared holds.
const LIFE: Duration = Duration::from_secs(3600);
const BODY: &str = r#"{"quantity":1}"#;

/// Writes requests for one sale.
#[derive(Debug)]
pub(super) struct Press<'a> {
    secrets: &'a Secrets,
    tokens: OrderTokens,
    forger: OrderTokens,
    folder: &'a Path,
}

/// One order to be prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// Number of the user.
    pub(super) user: u32,
    /// Number of the address.
    pub(super) ip: u32,
    /// Number of the token: the same for a repetition of the same operation.
    pub(super) token: u32,
    /// Whether the token is signed with a key that no gateway knows.
    pub(super) forged: bool,
}

impl Order {
    /// The first order of a user who has an address of their own.
    pub(super) fn of(user: u32) -> Self {
        Self { user, ip: user, token: user, forged: false }
    }
}

impl<'a> Press<'a> {
    pub(super) fn new(secrets: &'a Secrets, folder: &'a Path) -> Result<Self> {
        let keys = |secret: &str| OrderTokens::new(secret).context("the order token secret cannot sign");
        Ok(Self {
            secrets,
            tokens: keys(&secrets.order_token)?,
            forger: keys("a secret that the edge has never seen before")?,
            folder,
        })
    }

    /// Writes these orders to the file `name` and returns its path.
    pub(super) fn print(&self, name: &str, sku: &str, orders: &[Order]) -> Result<PathBuf> {
        let path = self.folder.join(format!("{name}.requests"));
        let sku = Sku::parse(sku).context("the sale's name")?;
        let expires = expires()?;
        let half = orders.len().div_ceil(2).max(1);
        let halves = std::thread::scope(|scope| {
            let threads: Vec<_> = orders
                .chunks(half)
                .map(|half| scope.spawn(|| half.iter().map(|order| self.request(&sku, *order, expires)).collect()))
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<String>>>| {
                thread.join().map_err(|_| anyhow!("a thread that prepared requests has died"))?
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>>>()
        })?;
        let mut file = BufWriter::new(std::fs::File::create(&path)?);
        for request in halves.iter().flatten() {
            write!(file, "{:08}{request}", request.len())?;
        }
        file.flush().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// One order as it is sent.
    pub(super) fn one(&self, sku: &str, order: Order) -> Result<String> {
        self.request(&Sku::parse(sku).context("the sale's name")?, order, expires()?)
    }

    fn request(&self, sku: &Sku, order: Order, expires: Millis) -> Result<String> {
        let name = format!("user-{}", order.user);
        let jwt = user::jwt(&self.secrets.user_jwt, &name, LIFE)?;
        let who = User::parse(&name).context("the user's name")?;
        let signer = if order.forged { &self.forger } else { &self.tokens };
        let token = signer.issue(u128::from(order.token).to_be_bytes(), &who, sku, expires);
        Ok(text(sku, &jwt, &token, address(order.ip)))
    }
}

/// When what is prepared now ends.
fn expires() -> Result<Millis> {
    Ok(Millis(clock::unix_ms()).plus(Millis(LIFE.as_millis().try_into()?)))
}

/// An address of the private range, one a number.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + (number & 0x00ff_ffff))
}

fn text(sku: &Sku, jwt: &str, token: &str, ip: Ipv4Addr) -> String {
    let head = [
        format!("POST /v1/sales/{sku}/orders HTTP/1.1"),
        "Host: shop.example".to_owned(),
        "User-Agent: Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36".to_owned(),
        "Accept: application/json".to_owned(),
        "Accept-Language: en".to_owned(),
        format!("Authorization: Bearer {jwt}"),
        format!("CF-Connecting-IP: {ip}"),
        format!("Sluice-Order-Token: {token}"),
        "Content-Type: application/json".to_owned(),
        format!("Content-Length: {}", BODY.len()),
    ];
    format!("{}\r\n\r\n{BODY}", head.join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_an_address_of_its_own() {
        assert_eq!(address(1), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address(65_536 + 258), Ipv4Addr::new(10, 1, 1, 2));
    }

    #[test]
    fn what_is_prepared_is_what_the_gate_accepts() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::random().unwrap();
        let press = Press::new(&secrets, folder.path()).unwrap();
        let forged = Order { forged: true, ..Order::of(2) };
        let path = press.print("test", "demo", &[Order::of(1), forged]).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let requests: Vec<&str> = text.split(BODY).filter(|part| !part.is_empty()).collect();
        assert_eq!(requests.len(), 2);
        let length: usize = requests[0][..8].parse().unwrap();
        assert_eq!(length, requests[0].len() - 8 + BODY.len());
        let token =
            |at: usize| requests[at].lines().find_map(|line| line.strip_prefix("Sluice-Order-Token: ")).unwrap();
        let tokens = OrderTokens::new(&secrets.order_token).unwrap();
        let (sku, user) = (Sku::parse("demo").unwrap(), |n| User::parse(n).unwrap());
        assert!(tokens.verify(token(0), &user("user-1"), &sku, Some(Millis(1))).is_ok());
        assert!(tokens.verify(token(1), &user("user-2"), &sku, Some(Millis(1))).is_err());
    }
}
