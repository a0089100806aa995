//! The user's JWT: by a secret at once, by public keys with the platform's help.
//!
//! Keys come from the configured address alone and are kept per isolate, whatever edition of the configuration is in
//! force. One request fetches them; the others look again in a moment, each by a timer of its own, since none may wait
//! for another's promise.

use std::rc::Rc;

use sluice_upstash::Transport;

use super::Gate;
use super::edition::Edition;
use super::ports::{Ports, Request, Signature};
use crate::api::code::Code;
use crate::api::problem::Problem;
use crate::config::{Identity, Jwks, Route, UserRule};
use crate::identity::jwks::KeySet;
use crate::identity::jwt::Checks;
use crate::identity::key_cache::{Look, Times};
use crate::identity::keyring::JwtFault;
use crate::model::{Algorithm, Millis, User};

/// How long a request that waits for another's fetch waits before it looks again.
const MOMENT: Millis = Millis(20);

impl<T: Transport + 'static> Gate<T> {
    /// The user that the request's JWT names; none where none is sent and the route does not need one.
    pub(super) async fn user<P: Ports>(
        self: &Rc<Self>,
        edition: &Edition,
        route: &Route,
        request: &Request,
        ports: &P,
    ) -> Result<Option<User>, Problem> {
        let Some(value) = request.header("authorization") else {
            return match route.user {
                UserRule::Required => Err(Code::IdentityMissing.into()),
                UserRule::Optional => Ok(None),
            };
        };
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Code::IdentityInvalid.into());
        }
        let (token, checks) = (token.trim(), &edition.checks);
        match (&edition.config.identity, &self.users) {
            (Identity { jwks: Some(jwks), algorithm, .. }, _) => {
                self.by_key(checks, *algorithm, jwks, token, ports).await.map(Some)
            }
            (_, Some(secrets)) => checks.by_secret(secrets, token, ports.now()).map(Some).map_err(bad_jwt),
            // A replaced configuration that wants a secret which nobody has set.
            (_, None) => Err(Code::Misconfigured.into()),
        }
    }

    async fn by_key<P: Ports>(
        self: &Rc<Self>,
        checks: &Checks,
        algorithm: Algorithm,
        jwks: &Jwks,
        token: &str,
        ports: &P,
    ) -> Result<User, Problem> {
        let signed = checks.open(token).map_err(bad_jwt)?;
        let jwk = self.key(algorithm, jwks, signed.kid(), ports).await?;
        let signature = Signature { algorithm, jwk: &jwk, message: signed.message(), signature: signed.signature() };
        let good = ports.verify(signature).await;
        let verified = signed.found(good).map_err(bad_jwt)?;
        checks.by_key(&verified, ports.now()).map_err(bad_jwt)
    }

    /// The public key of that id.
    async fn key<P: Ports>(
        self: &Rc<Self>,
        algorithm: Algorithm,
        jwks: &Jwks,
        kid: Option<&str>,
        ports: &P,
    ) -> Result<Rc<str>, Problem> {
        // The same address read for another algorithm is another set.
        let source = format!("{} {}", algorithm.name(), jwks.url);
        let times = Times { refresh: jwks.refresh, floor: jwks.floor, deadline: jwks.deadline };
        let end = ports.now().plus(jwks.deadline);
        loop {
            let now = ports.now();
            let look = self.user_keys.borrow_mut().look(&source, kid, times, now);
            match look {
                Look::Found { jwk, refresh } => {
                    if refresh {
                        let (gate, world, jwks) = (Rc::clone(self), ports.clone(), jwks.clone());
                        ports.background(async move { gate.fetch_keys(&source, algorithm, &jwks, &world).await });
                    }
                    return Ok(jwk);
                }
                Look::Fetch => self.fetch_keys(&source, algorithm, jwks, ports).await,
                Look::Wait if now < end => ports.pause(MOMENT).await,
                Look::Wait => return Err(unavailable(MOMENT)),
                Look::Unknown => return Err(Code::IdentityInvalid.into()),
                Look::Away(wait) => return Err(unavailable(wait)),
            }
        }
    }

    async fn fetch_keys<P: Ports>(&self, source: &str, algorithm: Algorithm, jwks: &Jwks, ports: &P) {
        let answer = ports.ask(&jwks.url, None, jwks.deadline).await;
        let (set, fault) = match answer {
            Ok((200, text)) => (KeySet::parse(&text, algorithm), "no key set with a usable key"),
            Ok(_) => (None, "another status than 200"),
            Err(fault) => (None, fault.as_str()),
        };
        if set.is_none() {
            ports.log(&format!(r#"{{"event":"keys","fault":"{fault}"}}"#));
        }
        self.user_keys.borrow_mut().learn(source, set, ports.now());
    }
}

fn bad_jwt(fault: JwtFault) -> Problem {
    match fault {
        JwtFault::Invalid => Code::IdentityInvalid.into(),
        JwtFault::Expired => Code::IdentityExpired.into(),
    }
}

fn unavailable(wait: Millis) -> Problem {
    Problem::from(Code::IdentityUnavailable).retry_after(wait)
}
