//! A sale's counters in Redis: plain commands that travel with a call of `lua/admit.lua`, so that admit stays a decision
//! and nothing else.

use sluice_upstash::command::command;
use sluice_upstash::{Arg, Value};

use crate::model::Millis;

/// How long counters are kept after they were last added to.
pub const TTL: Millis = Millis::from_secs(7 * 24 * 3600);

/// Adds what an isolate has counted to the hash at `key`; nothing when there is nothing to add.
#[must_use]
pub fn add(key: &str, tally: &[(&'static str, u64)]) -> Vec<String> {
    let mut commands: Vec<String> = tally
        .iter()
        .map(|(name, count)| command("HINCRBY", &[Arg::Str(key), Arg::Str(name), Arg::Int(*count)]))
        .collect();
    if !commands.is_empty() {
        commands.push(command("PEXPIRE", &[Arg::Str(key), Arg::Int(TTL.0)]));
    }
    commands
}

/// Reads the reply of HGETALL: names with their counts.
#[must_use]
pub fn parse(reply: &Value) -> Vec<(&str, u64)> {
    let Value::Array(items) = reply else { return Vec::new() };
    let pairs = items.chunks_exact(2).filter_map(|pair| match pair {
        [Value::Str(name), Value::Str(count)] => Some((name.as_str(), count.parse().ok()?)),
        [Value::Str(name), Value::Int(count)] => Some((name.as_str(), u64::try_from(*count).ok()?)),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_counted_is_no_command() {
        assert_eq!(add("k", &[]), [""; 0]);
        let commands = add("k", &[("admitted", 2)]);
        assert_eq!(commands, [r#"["HINCRBY","k","admitted",2]"#, r#"["PEXPIRE","k",604800000]"#]);
    }
}
