//! What an operation is known by: who asks, and a key. The key is the order token's id, the client's own, or made from
//! the request's body.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::ports::Request;
use super::who::Caller;
use super::whole;
use crate::api::code::Code;
use crate::api::problem::Problem;
use crate::config::{Idempotency, Route};
use crate::digest::Tag;

/// Who asks and by which key, as one hash; `None` on a route whose requests are no operations.
///
/// An operation belongs to the verified user; where none is known, to the client address. Without either there is
/// nobody to tell its answer to.
///
/// # Errors
/// What the request lacks.
pub(super) fn of(route: &Route, request: &Request, caller: &Caller) -> Result<Option<Tag>, Problem> {
    let (kind, key) = match &route.idempotency {
        Idempotency::None => return Ok(None),
        Idempotency::OrderToken => ("token", caller.token.ok_or(Code::TokenMissing)?.id),
        Idempotency::ClientKey => {
            let key = caller.client_key.as_ref().ok_or(Code::IdempotencyKeyMissing)?;
            ("client", Tag::of(&[key.as_bytes()]))
        }
        Idempotency::Derived(fields) => ("derived", derived(fields, whole(request))?),
    };
    let (scope, who) = match (&caller.user, &caller.ip) {
        (Some(user), _) => ("user", user.to_string()),
        (None, Some(ip)) => ("ip", ip.to_string()),
        (None, None) => return Err(Code::ClientIpMissing.into()),
    };
    let parts = [scope, &who, kind, key.as_str()];
    Ok(Some(Tag::of(&parts.map(str::as_bytes))))
}

/// A key made from members of a JSON object, byte for byte as they were sent; from the whole body when none is named.
fn derived(fields: &[String], body: &[u8]) -> Result<Tag, Code> {
    if fields.is_empty() {
        return Ok(Tag::of(&[body]));
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(body).map_err(|_| Code::InvalidBody)?;
    let mut parts = Vec::with_capacity(fields.len() * 2);
    for field in fields {
        // A member that is missing would make all requests without it one operation.
        let value = members.get(field).ok_or(Code::InvalidBody)?;
        parts.extend([field.as_bytes(), value.get().as_bytes()]);
    }
    Ok(Tag::of(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fields: &[&str], body: &str) -> Result<Tag, Code> {
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        derived(&fields, body.as_bytes())
    }

    #[test]
    fn named_members_make_the_key_and_nothing_else_does() {
        let first = key(&["order", "shop"], r#"{"order":7,"shop":"a","at":1}"#).unwrap();
        assert_eq!(key(&["order", "shop"], r#"{ "at" : 2, "shop" : "a", "order" : 7 }"#), Ok(first));
        assert_ne!(key(&["order", "shop"], r#"{"order":8,"shop":"a"}"#), Ok(first));
        assert_ne!(key(&["shop", "order"], r#"{"order":7,"shop":"a"}"#), Ok(first));
        assert_ne!(key(&["order", "shop"], r#"{"order":"7","shop":"a"}"#), Ok(first), "7 and \"7\" differ");
    }

    #[test]
    fn r_redis_js_37_numbers_beyond_2_pow_53_are_told_apart() {
        let key = |n: &str| key(&["id"], &format!("{{\"id\":{n}}}")).unwrap();
        assert_ne!(key("101660004000155481467"), key("101660004000155481468"));
        assert_ne!(key("9007199254740992"), key("9007199254740993"));
    }

    #[test]
    fn without_named_members_the_whole_body_is_the_key() {
        assert_eq!(key(&[], "anything"), key(&[], "anything"));
        assert_ne!(key(&[], "{\"a\":1}"), key(&[], "{ \"a\":1}"));
    }

    #[test]
    fn a_body_without_the_named_members_is_refused() {
        for body in ["", "[]", "{}", r#"{"b":1}"#, r#"{"a":1"#, "nonsense"] {
            assert_eq!(key(&["a"], body), Err(Code::InvalidBody), "{body:?}");
        }
    }
}
