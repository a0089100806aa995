//! The id of a user's JWT, by which it may be revoked before its time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// Longest id, in bytes.
const MAX: usize = 255;

#[derive(Deserialize)]
struct Claims {
    jti: String,
}

/// The `jti` of a JWT that was verified; `None` when it has none, or one that is empty or longer than 255 bytes.
/// Nothing is checked here.
#[must_use]
pub fn of(token: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let Claims { jti } = serde_json::from_slice(&payload).ok()?;
    (1..=MAX).contains(&jti.len()).then_some(jti)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jti(payload: &str) -> Option<String> {
        of(&format!("head.{}.signature", URL_SAFE_NO_PAD.encode(payload)))
    }

    #[test]
    fn a_jwt_has_an_id_or_has_none() {
        assert_eq!(jti(r#"{"sub":"42","jti":"a b"}"#).as_deref(), Some("a b"));
        for bad in ["{}", r#"{"jti":""}"#, r#"{"jti":7}"#, r#"{"jti":null}"#, "", "[]"] {
            assert_eq!(jti(bad), None, "{bad}");
        }
        assert_eq!(jti(&format!("{{\"jti\":\"{}\"}}", "x".repeat(256))), None);
        assert_eq!((of(""), of("a"), of("a.!.c")), (None, None, None));
    }
}
