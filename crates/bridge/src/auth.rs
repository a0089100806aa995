//! Who may ask: bearer tokens, compared in constant time.

use std::fmt;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// What a client without the right token is told.
pub const WRONG_TOKEN: &str = "WRONGPASS invalid or missing auth token";

/// A token that clients send. `Debug` hides it.
#[derive(Clone)]
pub struct Token(Box<[u8]>);

impl Token {
    /// A token, unless it is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.as_bytes().into()))
    }

    /// Whether a client's token is this one. The time depends on the lengths only.
    pub fn is(&self, offered: &[u8]) -> bool {
        self.compare(offered).into()
    }

    /// Whether two tokens are the same.
    pub fn same(&self, other: &Self) -> bool {
        self.is(&other.0)
    }

    fn compare(&self, offered: &[u8]) -> Choice {
        self.0.ct_eq(offered)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// Which of the tokens a client's is. All are compared, so the time does not tell which one nearly fitted.
pub fn find<'a>(tokens: impl Iterator<Item = &'a Token>, offered: &[u8]) -> Option<usize> {
    let mut found = u64::MAX;
    for (index, token) in (0u64..).zip(tokens) {
        found.conditional_assign(&index, token.compare(offered));
    }
    usize::try_from(found).ok().filter(|index| *index != usize::MAX)
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
    fn the_right_one_of_several_is_found() {
        let tokens = ["a", "bb", "cc"].map(|text| Token::new(text).unwrap());
        assert_eq!(find(tokens.iter(), b"bb"), Some(1));
        assert_eq!(find(tokens.iter(), b"cc"), Some(2));
        assert_eq!(find(tokens.iter(), b"cd"), None);
        assert_eq!(find([].iter(), b""), None);
    }

    #[test]
    fn bearer_takes_any_case_and_nothing_else() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b"Bearer"), None);
    }
}
