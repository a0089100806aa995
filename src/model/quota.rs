//! What a token bucket may give: `burst` at once, and one more every `interval`. A zero cannot be written.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use super::time::Micros;

/// Above this many microseconds the arithmetic of the Lua side (doubles) would no longer be exact.
pub const TOLERANCE_LIMIT: u64 = 1 << 52;

/// Burst and rate of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    burst: NonZeroU32,
    interval: NonZeroU64,
}

/// How many units a request takes; 0 is a peek.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u32);

/// Why a burst and a rate make no quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadQuota {
    /// `burst` is 0: nothing would ever pass.
    ZeroBurst,
    /// The rate is 0, or no number.
    BadRate,
    /// `burst / rate` is longer than 2^52 µs (142 years).
    TooLong,
}

impl fmt::Display for BadQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroBurst => "burst must be at least 1",
            Self::BadRate => "rate must be written as \"<count>/<period>\", for example \"2/s\", \"1/60s\", \"100/m\", with both above 0",
            Self::TooLong => "burst divided by rate must be shorter than 2^52 microseconds",
        })
    }
}

impl std::error::Error for BadQuota {}

impl Quota {
    /// `burst` units at once, then one every `interval`.
    ///
    /// # Errors
    /// [`BadQuota`] when one of them is zero or the two together are out of range.
    pub fn new(burst: u32, interval: Micros) -> Result<Self, BadQuota> {
        let burst = NonZeroU32::new(burst).ok_or(BadQuota::ZeroBurst)?;
        let interval = NonZeroU64::new(interval.0).ok_or(BadQuota::BadRate)?;
        match interval.get().checked_mul(u64::from(burst.get())) {
            Some(tolerance) if tolerance < TOLERANCE_LIMIT => Ok(Self { burst, interval }),
            _ => Err(BadQuota::TooLong),
        }
    }

    /// Reads a rate as gate.toml writes it (`"2/s"`, `"1/60s"`, `"100/m"`, `"5/250ms"`, `"1/h"`, `"1/d"`);
    /// the interval is rounded up to a whole microsecond, so a limit is never looser than written.
    ///
    /// # Errors
    /// [`BadQuota`] when it is not so written, or out of range.
    pub fn parse(burst: u32, rate: &str) -> Result<Self, BadQuota> {
        let (count, period) = rate.split_once('/').ok_or(BadQuota::BadRate)?;
        let count = whole(count).ok_or(BadQuota::BadRate)?;
        let digits = period.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = period.split_at(digits);
        let number = if number.is_empty() { 1 } else { whole(number).ok_or(BadQuota::BadRate)? };
        let unit: u64 = match unit {
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return Err(BadQuota::BadRate),
        };
        let period = number.checked_mul(unit).ok_or(BadQuota::TooLong)?;
        Self::new(burst, Micros(period.div_ceil(count)))
    }

    /// The share of one of `shards` buckets that hold this quota together: burst and rate are divided evenly, so the
    /// rate of all stays what it was. `None` unless each gets a whole number of units, at least one.
    #[must_use]
    pub fn share(self, shards: NonZeroU32) -> Option<Self> {
        let (burst, interval) = (self.burst(), self.interval().0.checked_mul(u64::from(shards.get()))?);
        if burst % shards.get() != 0 {
            return None;
        }
        Self::new(burst / shards.get(), Micros(interval)).ok()
    }

    /// How many units pass at once after a long rest.
    #[must_use]
    pub fn burst(self) -> u32 {
        self.burst.get()
    }

    /// Time in which one unit comes back.
    #[must_use]
    pub fn interval(self) -> Micros {
        Micros(self.interval.get())
    }

    /// Time in which an empty bucket fills: `interval * burst`.
    #[must_use]
    pub fn tolerance(self) -> Micros {
        Micros(self.interval.get() * u64::from(self.burst.get()))
    }

    /// The `w` of `RateLimit-Policy`: seconds in which the whole burst comes back, rounded up.
    #[must_use]
    pub fn window_secs(self) -> u64 {
        self.tolerance().ceil_secs()
    }
}

/// A positive whole number in plain digits.
fn whole(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        assert_eq!(Quota::parse(5, "2/s").unwrap().interval(), Micros(500_000));
        assert_eq!(Quota::parse(1, "1/60s").unwrap().interval(), Micros(60_000_000));
        assert_eq!(Quota::parse(6000, "6000/s").unwrap().interval(), Micros(167), "rounded up");
        assert_eq!(Quota::parse(10, "100/m").unwrap().interval(), Micros(600_000));
        assert_eq!(Quota::parse(1, "5/250ms").unwrap().interval(), Micros(50_000));
        assert_eq!(Quota::parse(1, "1/h").unwrap().interval(), Micros(3_600_000_000));
        assert_eq!(Quota::parse(1, "1/2d").unwrap().interval(), Micros(172_800_000_000));
    }

    #[test]
    fn a_quota_is_shared_evenly_or_not_at_all() {
        let share = |burst, shards| Quota::parse(burst, "1000/s").unwrap().share(NonZeroU32::new(shards).unwrap());
        assert_eq!(share(100, 4), Quota::new(25, Micros(4_000)).ok());
        assert_eq!(share(100, 1), Quota::parse(100, "1000/s").ok());
        assert_eq!((share(100, 3), share(2, 4)), (None, None));
    }

    #[test]
    fn r_django_smart_ratelimit_pr75_a_zero_rate_cannot_be_written() {
        for bad in ["0/s", "1/0s", "", "abc", "-1/s", "1e9", "1e9/s", "1.5/s", "2/", "/s", "2/w", " 2/s"] {
            assert_eq!(Quota::parse(1, bad), Err(BadQuota::BadRate), "{bad:?}");
        }
        assert_eq!(Quota::parse(0, "1/s"), Err(BadQuota::ZeroBurst));
    }

    #[test]
    fn a_quota_beyond_exact_arithmetic_is_refused() {
        assert_eq!(Quota::parse(u32::MAX, "1/1000d"), Err(BadQuota::TooLong));
        assert_eq!(Quota::parse(1, "1/99999999999999999d"), Err(BadQuota::TooLong));
    }

    #[test]
    fn each_fault_says_how_it_is_written_right() {
        let said = [BadQuota::ZeroBurst, BadQuota::BadRate, BadQuota::TooLong].map(|bad| bad.to_string());
        assert!(said[0].contains("burst") && said[1].contains("\"2/s\"") && said[2].contains("2^52"), "{said:?}");
    }
}
