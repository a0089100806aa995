//! A user's JWT, as the shop's own sign-in would issue it.

use crate::clock;
use anyhow::{Context, Result, bail};
use sluice::identity::jwt::{UserClaims, sign};
use std::time::Duration;

/// `iss` that the demonstration's gate expects.
pub const ISSUER: &str = "https://shop.example";
/// `aud` that the demonstration's gate expects.
pub const AUDIENCE: &str = "sluice";

/// Signs a JWT for `user` that holds for `ttl`.
///
/// # Errors
/// When the secret is too short to sign with.
pub fn jwt(secret: &str, user: &str, ttl: Duration) -> Result<String> {
    let claims = UserClaims {
        iss: ISSUER.to_owned(),
        aud: AUDIENCE.to_owned(),
        sub: user.to_owned(),
        exp: clock::unix_ms() / 1000 + ttl.as_secs(),
    };
    sign(secret, &claims).context("the secret for users' JWTs cannot sign")
}

/// Reads `90s`, `15m`, `1h` or `7d`.
///
/// # Errors
/// When it is none of these, or zero.
pub fn duration(text: &str) -> Result<Duration> {
    let unit = text.chars().last().unwrap_or_default();
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => bail!("{text:?} is no duration: write 90s, 15m, 1h or 7d"),
    };
    let number: u64 = text
        .trim_end_matches(unit)
        .parse()
        .with_context(|| format!("{text:?} is no duration: write 90s, 15m, 1h or 7d"))?;
    match number.checked_mul(seconds) {
        Some(total) if total > 0 => Ok(Duration::from_secs(total)),
        _ => bail!("{text:?} is out of range"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        assert_eq!(duration("90s").unwrap().as_secs(), 90);
        assert_eq!(duration("1h").unwrap().as_secs(), 3600);
        assert_eq!(duration("7d").unwrap().as_secs(), 604_800);
        for bad in ["", "h", "1", "0s", "-1h", "1.5h", "99999999999999999999d", "1w"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_gate_accepts_what_is_signed() {
        use sluice::identity::jwt::Checks;
        use sluice::identity::keyring::Verifying;
        use sluice::model::{Algorithm, Millis};
        let secret = "a secret of at least thirty-two bytes";
        let token = jwt(secret, "42", Duration::from_secs(60)).unwrap();
        let gate = Checks::new(Algorithm::Hs256, ISSUER, AUDIENCE, Millis(0));
        let user = gate.by_secret(&Verifying::new(secret).unwrap(), &token, Millis(clock::unix_ms())).unwrap();
        assert_eq!(user.as_str(), "42");
    }
}
