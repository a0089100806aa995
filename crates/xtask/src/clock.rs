//! The one file of xtask that reads a clock or waits.

#![allow(clippy::disallowed_methods, reason = "the one place where tools read the clock")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a condition is looked at while waiting for it.
pub const POLL: Duration = Duration::from_millis(20);

/// The monotonic clock.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since 1970, by this machine's clock.
#[must_use]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Looks at `condition` until it holds (true) or `limit` has passed (false). Blocks the thread.
pub fn wait_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = now() + limit;
    loop {
        if condition() {
            return true;
        }
        if now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

/// A duration for people: `0.4 s`, `12.3 s`, `3 min 05 s`.
#[must_use]
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds >= 60 {
        return format!("{} min {:02} s", seconds / 60, seconds % 60);
    }
    format!("{seconds}.{} s", duration.subsec_millis() / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(human(Duration::from_millis(449)), "0.4 s");
        assert_eq!(human(Duration::from_millis(12_345)), "12.3 s");
        assert_eq!(human(Duration::from_secs(185)), "3 min 05 s");
    }
}
