//! `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): one item a limit.

use std::fmt::Write as _;

use super::response::Response;
use crate::admit::{Charge, Level};
use crate::model::Millis;

/// One limit as a request met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met<'a> {
    /// The limit's name.
    pub name: &'a str,
    /// What the request asked of it.
    pub charge: Charge,
    /// Where it stands.
    pub level: Level,
}

/// Adds both headers: `q` burst, `w` seconds in which it comes back, `r` units left, `t` seconds until it is full.
pub fn add(response: &mut Response, met: &[Met<'_>]) {
    if met.is_empty() {
        return;
    }
    let (mut policy, mut state) = (String::new(), String::new());
    for Met { name, charge, level } in met {
        let separator = if policy.is_empty() { "" } else { ", " };
        let quota = charge.quota;
        // Writing to a String cannot fail.
        let _ = write!(policy, "{separator}\"{name}\";q={};w={}", quota.burst(), quota.window_secs());
        let _ = write!(state, "{separator}\"{name}\";r={};t={}", charge.remaining(*level), level.0.ceil_secs());
    }
    response.header("ratelimit-policy", policy);
    response.header("ratelimit", state);
}

/// The longest wait of those that refuse: before it, the request cannot pass.
#[must_use]
pub fn wait(met: &[Met<'_>]) -> Millis {
    let waits = met.iter().filter_map(|m| m.charge.wait(m.level));
    waits.max().unwrap_or_default().ceil_millis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cost, Micros, Quota};

    fn met(level: u64) -> Met<'static> {
        let charge = Charge { quota: Quota::parse(5, "2/s").unwrap(), cost: Cost(1) };
        Met { name: "user", charge, level: Level(Micros(level)) }
    }

    #[test]
    fn each_limit_is_one_item() {
        let mut response = Response::new(200);
        add(&mut response, &[met(500_000), Met { name: "ip", ..met(2_500_000) }]);
        assert_eq!(response.get("ratelimit-policy"), Some("\"user\";q=5;w=3, \"ip\";q=5;w=3"));
        assert_eq!(response.get("ratelimit"), Some("\"user\";r=4;t=1, \"ip\";r=0;t=3"));
    }

    #[test]
    fn r_apisix_9964_the_wait_is_the_longest_of_those_that_refuse() {
        assert_eq!(wait(&[met(0), met(2_500_000), met(2_200_000)]), Millis(500));
    }
}
