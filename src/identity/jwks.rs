//! A set of public keys (RFC 7517), of which only those are kept that can check a user's JWT.

use std::rc::Rc;

use serde_json::Value;

use crate::model::Algorithm;

/// Most keys that are kept of a set.
const KEYS: usize = 32;

/// Fewest characters of an RSA modulus: 2048 bits (RFC 7518 section 3.3).
const MODULUS_MIN: usize = 342;

/// The usable keys of a set, at least one.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

#[derive(Debug, PartialEq, Eq)]
struct Key {
    kid: Option<String>,
    jwk: Rc<str>,
}

impl KeySet {
    /// Reads a set. Keys of another type, another algorithm or another use are left out.
    /// `None` when the text is no key set, or nothing of it is usable.
    #[must_use]
    pub fn parse(text: &str, algorithm: Algorithm) -> Option<Self> {
        let document: Value = serde_json::from_str(text).ok()?;
        let all = document.get("keys")?.as_array()?;
        let keys: Vec<Key> = all.iter().filter_map(|jwk| key(jwk, algorithm)).take(KEYS).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// The key of that id, as a JWK of its public members only. A token that names none means the only key there is.
    #[must_use]
    pub fn find(&self, kid: Option<&str>) -> Option<Rc<str>> {
        let found = match (kid, self.0.as_slice()) {
            (Some(kid), keys) => keys.iter().find(|key| key.kid.as_deref() == Some(kid)),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        found.map(|key| Rc::clone(&key.jwk))
    }
}

fn key(jwk: &Value, algorithm: Algorithm) -> Option<Key> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let is = |name: &str, value: &str| jwk.get(name).is_none_or(|given| given.as_str() == Some(value));
    let verifies = match jwk.get("key_ops") {
        None => true,
        Some(uses) => uses.as_array().is_some_and(|uses| uses.iter().any(|one| one.as_str() == Some("verify"))),
    };
    if !(is("use", "sig") && is("alg", algorithm.name()) && verifies) {
        return None;
    }
    let member = |name: &str, fits: &dyn Fn(usize) -> bool| {
        let plain = |text: &&str| text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        text(name).filter(plain).filter(|text| fits(text.len()))
    };
    // 32 bytes are 43 characters.
    let coordinate = |name: &str| member(name, &|length| length == 43);
    let jwk = match (algorithm, text("kty")?, text("crv")) {
        (Algorithm::Es256, "EC", Some("P-256")) => {
            format!(r#"{{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}}"#, coordinate("x")?, coordinate("y")?)
        }
        (Algorithm::EdDsa, "OKP", Some("Ed25519")) => {
            format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, coordinate("x")?)
        }
        (Algorithm::Rs256, "RSA", _) => {
            let modulus = member("n", &|length| (MODULUS_MIN..=4 * MODULUS_MIN).contains(&length))?;
            let exponent = member("e", &|length| (1..=12).contains(&length))?;
            format!(r#"{{"kty":"RSA","n":"{modulus}","e":"{exponent}"}}"#)
        }
        _ => return None,
    };
    Some(Key { kid: text("kid").map(str::to_owned), jwk: jwk.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ec(more: &str) -> String {
        let x = "x".repeat(43);
        format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{x}"{more}}}"#)
    }

    fn set(keys: &[String], algorithm: Algorithm) -> Option<KeySet> {
        KeySet::parse(&format!(r#"{{"keys":[{}]}}"#, keys.join(",")), algorithm)
    }

    fn is_kept(key: String, algorithm: Algorithm) -> bool {
        set(&[key], algorithm).is_some()
    }

    #[test]
    fn a_key_is_found_by_its_id() {
        let keys =
            set(&[ec(r#","kid":"a""#), ec(r#","kid":"b","use":"sig","alg":"ES256""#)], Algorithm::Es256).unwrap();
        assert!(keys.find(Some("a")).is_some() && keys.find(Some("b")).is_some());
        assert!(keys.find(Some("c")).is_none() && keys.find(None).is_none());
    }

    #[test]
    fn a_token_without_an_id_means_the_only_key() {
        let keys = set(&[ec(""), ec(r#","use":"enc""#)], Algorithm::Es256).unwrap();
        assert!(keys.find(None).is_some() && keys.find(Some("")).is_none());
    }

    #[test]
    fn a_key_for_something_else_is_left_out() {
        assert!(is_kept(ec(r#","key_ops":["verify"]"#), Algorithm::Es256));
        for more in [r#","use":"enc""#, r#","alg":"ES384""#, r#","use":7"#, r#","key_ops":["sign"]"#, r#","key_ops":1"#]
        {
            assert!(!is_kept(ec(more), Algorithm::Es256), "{more}");
        }
        for other in [Algorithm::Rs256, Algorithm::EdDsa, Algorithm::Hs256] {
            assert!(!is_kept(ec(""), other), "{other:?}");
        }
        assert!(!is_kept(ec("").replace("P-256", "P-384"), Algorithm::Es256));
        assert!(!is_kept(r#"{"kty":"oct","k":"c2VjcmV0"}"#.to_owned(), Algorithm::Hs256), "no secret comes from a set");
    }

    #[test]
    fn only_public_members_of_plain_form_are_kept() {
        let keys = set(&[ec(r#","d":"secret","x5u":"https://elsewhere","ext":true"#)], Algorithm::Es256).unwrap();
        let x = "x".repeat(43);
        assert_eq!(&*keys.find(None).unwrap(), format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{x}"}}"#));
        for bad in ["\\\"".to_owned() + &"x".repeat(41), "x".repeat(42), "x".repeat(44), "+".repeat(43)] {
            assert!(!is_kept(ec("").replace(&x, &bad), Algorithm::Es256), "{bad}");
        }
    }

    #[test]
    fn a_short_or_a_huge_rsa_key_is_left_out() {
        let rsa = |n: usize| format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#, "n".repeat(n));
        assert!(is_kept(rsa(342), Algorithm::Rs256));
        assert!(!is_kept(rsa(341), Algorithm::Rs256) && !is_kept(rsa(171), Algorithm::Rs256));
        assert!(is_kept(rsa(1_368), Algorithm::Rs256) && !is_kept(rsa(1_369), Algorithm::Rs256));
    }

    #[test]
    fn what_is_no_key_set_is_none_and_many_keys_are_bounded() {
        for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[]}"#, r#"{"keys":[1,null,"x",{}]}"#, "<html>"] {
            assert_eq!(KeySet::parse(text, Algorithm::Es256), None, "{text}");
        }
        let many: Vec<String> = (0..100).map(|n| ec(&format!(r#","kid":"{n}""#))).collect();
        let keys = set(&many, Algorithm::Es256).unwrap();
        assert!(keys.find(Some("31")).is_some() && keys.find(Some("32")).is_none());
    }
}
