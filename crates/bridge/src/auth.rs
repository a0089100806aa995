//! Who may ask: the bearer token, compared in constant time.

use std::fmt;

use subtle::ConstantTimeEq;

/// What a client without the right token is told.
pub const WRONG_TOKEN: &str = "WRONGPASS invalid or missing auth token";

/// The token that clients must send. `Debug` hides it.
#[derive(Clone)]
pub struct Token(Box<[u8]>);

impl Token {
    /// A token, unless it is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.as_bytes().into()))
    }

    /// Whether a client's token is this one. The time depends on the lengths only.
    pub fn is(&self, offered: &[u8]) -> bool {
        self.0.ct_eq(offered).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// The token inside an `Authorization` header; the scheme's case does not matter.
pub fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_passes() {
        let token = Token::new("secret").unwrap();
        assert!(token.is(b"secret"));
        for wrong in [&b""[..], b"secre", b"secrets", b"SECRET"] {
            assert!(!token.is(wrong));
        }
        assert!(Token::new("").is_none());
    }

    #[test]
    fn bearer_takes_any_case_and_nothing_else() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b"Bearer"), None);
    }
}
