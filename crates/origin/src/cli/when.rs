//! Times as people write them: `now`, `+2h`, RFC 3339, or milliseconds since the epoch.

use std::str::FromStr;

use sluice::model::Millis;

/// A time on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// So much after the time that it is told.
    In(Millis),
    /// An instant.
    At(Millis),
}

impl When {
    /// The instant, counted from `start` where it is relative.
    pub(super) fn after(self, start: Millis) -> Millis {
        match self {
            Self::In(wait) => start.plus(wait),
            Self::At(instant) => instant,
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "now" {
            return Ok(Self::In(Millis(0)));
        }
        if let Some(wait) = text.strip_prefix('+') {
            return duration(wait)
                .map(Self::In)
                .ok_or_else(|| format!("`{text}` is no time span; write +30s, +10m, +2h or +1d"));
        }
        if let Ok(instant) = text.parse::<u64>() {
            return Ok(Self::At(Millis(instant)));
        }
        let parsed = chrono::DateTime::parse_from_rfc3339(text).ok();
        let instant = parsed.and_then(|at| u64::try_from(at.timestamp_millis()).ok());
        instant.map(|ms| Self::At(Millis(ms))).ok_or_else(|| {
            format!("`{text}` is no time; write now, +2h, 2030-01-31T20:00:00+08:00, or milliseconds since 1970")
        })
    }
}

/// A span of time that is longer than nothing and shorter than a month.
pub(super) fn span(text: &str) -> Result<Millis, String> {
    let month = Millis::from_secs(30 * 86_400);
    let span = duration(text).filter(|span| (Millis(1)..=month).contains(span));
    span.ok_or_else(|| format!("`{text}` is no time span up to 30d; write 90s, 30m or 2h"))
}

fn duration(text: &str) -> Option<Millis> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let unit: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit).map(Millis)
}

/// An instant as people read it, UTC.
pub(super) fn shown(Millis(ms): Millis) -> String {
    let at = i64::try_from(ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    at.map_or_else(|| ms.to_string(), |at| at.format("%Y-%m-%d %H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now = Millis(1_000);
        let at = |text: &str| text.parse::<When>().map(|when| when.after(now));
        assert_eq!(at("now"), Ok(now));
        assert_eq!(at("+2h"), Ok(Millis(7_201_000)));
        assert_eq!(at("+1500ms"), Ok(Millis(2_500)));
        assert_eq!(at("1700000000000"), Ok(Millis(1_700_000_000_000)));
        assert_eq!(at("2023-11-15T06:13:20+08:00"), Ok(Millis(1_700_000_000_000)));
        for bad in [
            "",
            "+",
            "+2",
            "+2w",
            "+h",
            "-1",
            "tomorrow",
            "2023-11-15",
            "+99999999999999999999d",
            "1969-01-01T00:00:00Z",
        ] {
            assert!(at(bad).is_err(), "{bad:?}");
        }
    }
}
