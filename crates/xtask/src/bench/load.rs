//! The load: wrk with prepared requests.

use crate::{command, paths, tools};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Connections that are open at once.
const CONNECTIONS: u32 = 32;
/// The longest that a bounded number of requests may take, s.
const BOUNDED_LIMIT: u64 = 240;

/// How long a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// So many seconds; each request is sent once at most.
    Seconds(u64),
    /// So many seconds; starts over where requests run out.
    SecondsAgain(u64),
    /// All requests of the file, so many, are answered.
    Answered(u64),
}

/// What wrk saw.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Seen {
    pub(super) requests: u64,
    pub(super) duration_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// Whether the prepared requests did not last.
    exhausted: bool,
    /// Connections and requests that broke, or had no answer in time.
    failed: u64,
    pub(super) statuses: BTreeMap<u16, u64>,
    /// The first body of each status.
    bodies: BTreeMap<u16, String>,
}

impl Seen {
    /// Reads the line that the script wrote, which is the last one.
    fn read(output: &str) -> Result<Self> {
        let line = output.lines().rev().find(|line| line.starts_with('{')).context("wrk printed no result")?;
        serde_json::from_str(line).with_context(|| format!("wrk printed {line:?}"))
    }

    /// Fails when a request had no answer, or one that is not among the `expected`.
    pub(super) fn check(&self, expected: &[u16]) -> Result<()> {
        ensure!(!self.exhausted, "the prepared requests did not last: {} were answered", self.requests);
        ensure!(self.failed == 0, "{} requests had no answer", self.failed);
        ensure!(self.requests > 0, "nothing was answered");
        if let Some(strange) = self.statuses.keys().find(|status| !expected.contains(status)) {
            let body = self.bodies.get(strange).map(String::as_str).unwrap_or_default();
            bail!("answers of the unexpected status {strange} among {:?}, such as {body}", self.statuses);
        }
        Ok(())
    }

    /// Answers of one status.
    pub(super) fn of_status(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or_default()
    }
}

/// Sends the requests in `file` to `url`.
pub(super) fn run(url: &str, file: &Path, until: Until) -> Result<Seen> {
    let (seconds, word) = match until {
        Until::Seconds(seconds) => (seconds, "once".to_owned()),
        Until::SecondsAgain(seconds) => (seconds, "again".to_owned()),
        Until::Answered(count) => (BOUNDED_LIMIT, count.to_string()),
    };
    let mut wrk = Command::new(tools::ensure_apt("wrk")?);
    wrk.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), "--timeout", "20s"]);
    wrk.arg("-s").arg(paths::root().join("bench/load.lua")).arg(url).arg("--").arg(file).arg(word);
    let seen = Seen::read(&command::capture(&mut wrk)?)?;
    if let Until::Answered(count) = until {
        ensure!(seen.requests == count, "{count} requests were not answered within {BOUNDED_LIMIT} s: {seen:?}");
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"requests":9,"duration_us":1500000,"p50_us":700,"p99_us":2100,"exhausted":false,"failed":0,"statuses":{"202":8,"409":1},"bodies":{"409":"sold out"}}"#;

    #[test]
    fn the_result_is_found_among_what_wrk_prints() {
        let seen = Seen::read(&format!("Running 1s test @ http://x\n  1 threads\n{LINE}\n")).unwrap();
        assert_eq!((seen.requests, seen.of_status(202), seen.of_status(500)), (9, 8, 0));
        assert!(Seen::read("Running 1s test").is_err());
        assert!(Seen::read("{\"requests\":1}").is_err());
    }

    #[test]
    fn an_answer_that_nobody_expects_is_a_fault() {
        let seen = Seen::read(LINE).unwrap();
        assert!(seen.check(&[202, 409]).is_ok());
        let text = format!("{:#}", seen.check(&[202]).unwrap_err());
        assert!(text.contains("409") && text.contains("sold out"), "{text}");
    }

    #[test]
    fn a_request_without_an_answer_is_a_fault() {
        let with = |from, to| Seen::read(&LINE.replace(from, to)).unwrap().check(&[202, 409]);
        assert!(with("\"failed\":0", "\"failed\":1").is_err());
        assert!(with("\"exhausted\":false", "\"exhausted\":true").is_err());
        assert!(with("\"requests\":9", "\"requests\":0").is_err());
    }
}
