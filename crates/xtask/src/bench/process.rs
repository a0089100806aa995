//! How much processor time a process has used, as Linux counts it.

use anyhow::{Context, Result};
use std::fs;

/// Microseconds in a tick of `/proc`: `USER_HZ` is 100 wherever workerd runs.
const TICK_US: u64 = 10_000;

/// Microseconds that a process has run so far, in user mode and in the kernel, all threads together.
pub(super) fn cpu_us(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    ticks(&text).map(|ticks| ticks * TICK_US).with_context(|| format!("{path} has another layout"))
}

/// The sum of `utime` and `stime`, fields 14 and 15. The name before them may hold anything, also spaces and parentheses.
fn ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_kernel_time_are_added() {
        let stat = "42 (work ) erd) S 1 42 42 0 -1 4194304 100 0 0 0 700 55 3 4 20 0 9 0 12345 1 2";
        assert_eq!(ticks(stat), Some(755));
        assert_eq!(ticks("42 (workerd) S 1"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn our_own_time_can_be_read() {
        assert!(cpu_us(std::process::id()).is_ok());
        assert!(cpu_us(u32::MAX).is_err());
    }
}
