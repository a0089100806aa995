//! Bearer tokens of operators.

use subtle::{Choice, ConstantTimeEq as _};

/// Tokens that are good.
#[derive(Clone)]
pub struct Tokens(Vec<String>);

impl Tokens {
    /// From a comma-separated list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(list: &str) -> Result<Self, &'static str> {
        let tokens: Vec<String> = list.split(',').map(str::to_owned).collect();
        if tokens.iter().any(|token| token.len() < 32 || !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err("a token has at least 32 visible ASCII characters");
        }
        Ok(Self(tokens))
    }

    /// Whether it is one of them. How long that takes does not tell which characters are right.
    pub(crate) fn knows(&self, token: &str) -> bool {
        let right =
            self.0.iter().fold(Choice::from(0), |right, known| right | known.as_bytes().ct_eq(token.as_bytes()));
        right.into()
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_the_tokens_is_good_and_nothing_else() {
        let (one, two) = ("0123456789abcdef0123456789abcdef", "abcdef0123456789abcdef0123456789");
        let tokens = Tokens::parse(&format!("{one},{two}")).unwrap();
        assert!(tokens.knows(one) && tokens.knows(two));
        for bad in ["", &one[1..], &format!("{one}0"), &format!("{one},{two}")] {
            assert!(!tokens.knows(bad), "{bad}");
        }
        assert!(Tokens::parse("short").is_err() && Tokens::parse(&format!("{one},")).is_err());
    }
}
