//! Who asks, and what for: everything a policy can demand of a request before any network is touched.

use std::net::IpAddr;

use super::operation;
use super::ports::{Body, Request};
use crate::api::code::Code;
use crate::api::order::OrderRequest;
use crate::api::problem::Problem;
use crate::api::{ATTEMPT, IDEMPOTENCY_KEY, ORDER_TOKEN};
use crate::config::{BodyRule, Gate, Idempotency, IpMissing, KeyPart, Matched, Route};
use crate::digest::Tag;
use crate::identity::ip::{self, ClientIp};
use crate::identity::jti;
use crate::model::{Millis, Sku, User};
use crate::token::{OrderTokens, TokenFault, Verified};

/// A request that met all that can be checked without the network.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The verified user.
    pub user: Option<User>,
    /// The id of the user's JWT, where it may have been revoked.
    pub jti: Option<String>,
    /// The client address, where the platform gave one.
    pub address: Option<IpAddr>,
    /// The same as limits count it.
    pub ip: Option<ClientIp>,
    /// Address or user is exempt from limits.
    pub exempt: bool,
    /// The sale in the path.
    pub sku: Option<Sku>,
    /// The order token, on routes that demand one.
    pub token: Option<Verified>,
    /// Its time is over. It is told only when the operation has no claim yet, so it is not an error here.
    pub token_expired: bool,
    /// Which attempt at the operation this is, by the client's own count; 1 when it says nothing.
    pub attempt: u32,
    /// The client's own `Idempotency-Key`, on routes with operations.
    pub client_key: Option<String>,
    /// Units wanted by the body, where it is an order; else 1.
    pub quantity: u32,
    /// Who asks and by which key, on routes with operations.
    pub operation: Option<Tag>,
}

/// Longest `Idempotency-Key`.
const CLIENT_KEY_MAX: usize = 255;

/// Who asks, as far as that is known before what is asked for.
#[derive(Clone, Debug)]
pub struct Known {
    /// The client's address.
    pub address: Option<IpAddr>,
    /// The verified user.
    pub user: Option<User>,
}

/// Checks the lists, SKU, token, key and body, in this order.
///
/// # Errors
/// The first that is not as the route demands.
pub fn identify(
    gate: &Gate,
    route: &Route,
    matched: &Matched,
    request: &Request,
    known: Known,
    tokens: &OrderTokens,
    now: Millis,
) -> Result<Caller, Problem> {
    let Known { address, user } = known;
    if user.as_ref().is_some_and(|user| gate.lists.deny.has_user(user)) {
        return Err(Code::Denied.into());
    }
    let sku = matched.sku.as_deref().map(Sku::parse).transpose().map_err(|_| Code::InvalidSku)?;
    let allowed = &gate.lists.allow;
    let exempt = address.is_some_and(|address| allowed.has_address(address))
        || user.as_ref().is_some_and(|user| allowed.has_user(user));
    let token = if route.idempotency == Idempotency::OrderToken {
        match (&user, &sku, request.header(ORDER_TOKEN)) {
            (Some(user), Some(sku), Some(text)) => Some(token(tokens, text, user, sku, now)?),
            _ => return Err(Code::TokenMissing.into()),
        }
    } else {
        None
    };
    let attempt = request.header(ATTEMPT).and_then(|n| n.parse().ok()).unwrap_or(1);
    let client_key = if route.is_operation() { client_key(request)? } else { None };
    let quantity = body(route, request)?;
    let token_expired = token.is_some_and(|(_, expired)| expired);
    let token = token.map(|(token, _)| token);
    let ip = address.map(ClientIp::from_ip);
    let jti = jti(gate, request, user.as_ref())?;
    let mut caller = Caller {
        user,
        jti,
        address,
        ip,
        exempt,
        sku,
        token,
        token_expired,
        attempt,
        client_key,
        quantity,
        operation: None,
    };
    caller.operation = operation::of(route, request, &caller)?;
    Ok(caller)
}

/// The id of the JWT that named the user, where it may have been revoked: then it must have one.
fn jti(gate: &Gate, request: &Request, user: Option<&User>) -> Result<Option<String>, Problem> {
    if !gate.identity.revocation || user.is_none() {
        return Ok(None);
    }
    let token = request.header("authorization").and_then(|value| value.split_once(' ')).map(|(_, token)| token.trim());
    let jti = token.and_then(jti::of).ok_or(Code::IdentityInvalid)?;
    Ok(Some(jti))
}

/// Whom the platform's own limit counts: the client's address; nobody when it is exempt.
///
/// # Errors
/// The address is missing or on a list of those kept out.
pub(super) fn counted_as(gate: &Gate, request: &Request) -> Result<Option<Tag>, Problem> {
    let address = address(gate, request)?;
    let exempt = address.is_some_and(|address| gate.lists.allow.has_address(address));
    let ip = address.map(|address| ClientIp::from_ip(address).to_string()).unwrap_or_default();
    Ok((!exempt).then(|| Tag::of(&[ip.as_bytes()])))
}

/// The client's address, by the one header that is believed.
///
/// # Errors
/// It is needed and missing, or on the list of those kept out.
pub fn address(gate: &Gate, request: &Request) -> Result<Option<IpAddr>, Problem> {
    let address = request.header(&gate.identity.ip_header).and_then(ip::address);
    match (address, gate.identity.ip_missing) {
        (None, IpMissing::Refuse) => Err(Code::ClientIpMissing.into()),
        (Some(address), _) if gate.lists.deny.has_address(address) => Err(Code::Denied.into()),
        (address, _) => Ok(address),
    }
}

/// The token, and whether its time is over.
fn token(tokens: &OrderTokens, text: &str, user: &User, sku: &Sku, now: Millis) -> Result<(Verified, bool), Problem> {
    let fault = match tokens.verify(text, user, sku, Some(now)) {
        Ok(token) => return Ok((token, false)),
        Err(TokenFault::Expired) => {
            return tokens.verify(text, user, sku, None).map(|token| (token, true)).map_err(bad_token);
        }
        Err(fault) => fault,
    };
    Err(bad_token(fault))
}

fn bad_token(fault: TokenFault) -> Problem {
    match fault {
        TokenFault::Invalid => Code::TokenInvalid.into(),
        TokenFault::Expired => Code::TokenExpired.into(),
        TokenFault::NotYours => Code::TokenNotYours.into(),
    }
}

/// 1 to 255 visible ASCII characters; `"k"`, as the draft has it, and a bare `k` are the same key.
fn client_key(request: &Request) -> Result<Option<String>, Problem> {
    let Some(text) = request.header(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    let fine = (1..=CLIENT_KEY_MAX).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    if fine { Ok(Some(key.to_owned())) } else { Err(Code::InvalidIdempotencyKey.into()) }
}

/// Checks the body: how many units it asks for.
fn body(route: &Route, request: &Request) -> Result<u32, Problem> {
    match (&request.body, route.body) {
        (Body::TooLarge, _) => Err(Code::BodyTooLarge.into()),
        // The configuration was replaced while the request came in.
        (Body::Streamed, _) if !route.streams() => Err(super::refusal::busy()),
        (Body::Streamed, _) => match declared(request) {
            Some(length) if length > route.body_limit as u64 => Err(Code::BodyTooLarge.into()),
            _ => Ok(1),
        },
        (Body::Whole(bytes), _) if bytes.len() > route.body_limit => Err(Code::BodyTooLarge.into()),
        (Body::Whole(_), BodyRule::Any | BodyRule::None) => Ok(1),
        (Body::Whole(bytes), BodyRule::Order) => {
            let order = OrderRequest::parse(request.header("content-type"), bytes)?;
            Ok(order.quantity)
        }
    }
}

/// How long the body is, as the client says.
fn declared(request: &Request) -> Option<u64> {
    request.header("content-length")?.parse().ok()
}

impl Caller {
    /// Whom a limit counts. Parts are length-prefixed and named, so no two subjects meet.
    #[must_use]
    pub fn subject(&self, key: &[KeyPart], route: &Route) -> Tag {
        let mut parts: Vec<String> = Vec::with_capacity(key.len() * 2);
        for part in key {
            let (kind, text) = match part {
                KeyPart::User => ("user", self.user.as_ref().map(|u| u.as_str().to_owned())),
                KeyPart::Ip => ("ip", self.ip.map(|ip| ip.to_string())),
                KeyPart::Sku => ("sku", self.sku.as_ref().map(|s| s.as_str().to_owned())),
                KeyPart::Route => ("route", Some(route.name.clone())),
            };
            parts.push(kind.to_owned());
            parts.push(text.unwrap_or_default());
        }
        Tag::of(&parts.iter().map(String::as_bytes).collect::<Vec<_>>())
    }
}
