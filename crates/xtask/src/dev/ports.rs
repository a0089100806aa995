//! Ports are looked at before anything long begins, and a taken one is named with the flag that changes it.

use super::options::{Options, Wanted};
use crate::stack::is_free;
use anyhow::{Result, bail};

pub(super) fn check(options: &Options) -> Result<()> {
    let wanted = options.wanted();
    if let Some(text) = doubled(&wanted) {
        bail!(text);
    }
    let taken: Vec<String> = wanted.iter().filter(|wanted| !is_free(wanted.port)).map(taken).collect();
    if !taken.is_empty() {
        bail!(taken.join("\n"));
    }
    Ok(())
}

fn taken(wanted: &Wanted) -> String {
    let Wanted { who, flag, port } = wanted;
    format!("port {port} (for {who}) is taken by another program; choose another with {flag}")
}

fn doubled(wanted: &[Wanted]) -> Option<String> {
    let mut seen: Vec<&Wanted> = Vec::new();
    for one in wanted {
        if let Some(other) = seen.iter().find(|other| other.port == one.port) {
            return Some(format!(
                "{} and {} both want port {}; choose another with {} or {}",
                other.who, one.who, one.port, other.flag, one.flag
            ));
        }
        seen.push(one);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_taken_port_is_named_with_its_flag() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = Options { check: true, bridge_port: Some(port), ..Options::default() };
        let text = check(&options).unwrap_err().to_string();
        assert!(text.contains(&format!("port {port} (for the bridge)")), "{text}");
        assert!(text.contains("--bridge-port"), "{text}");
    }

    #[test]
    fn two_parts_cannot_share_a_port() {
        let options = Options { port: Some(6390), ..Options::default() };
        let text = doubled(&options.wanted()).unwrap();
        assert!(text.contains("--port or --redis-port"), "{text}");
    }
}
