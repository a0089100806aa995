//! Values that several sections write alike.

use std::net::IpAddr;

use super::reader::{Faults, Place};
use crate::model::Quota;

pub(super) fn quota(faults: &Faults, burst: u64, (rate, at): (String, Place)) -> Option<Quota> {
    match Quota::parse(u32::try_from(burst).ok()?, &rate) {
        Ok(quota) => Some(quota),
        Err(fault) => {
            faults.note(&at, fault.to_string());
            None
        }
    }
}

/// A word that may stand in a Redis key.
pub(super) fn key_word(faults: &Faults, key: &str, word: String, at: &Place) -> Option<String> {
    let fine = (1..=32).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !fine {
        faults.note(at, format!("`{key}` must be 1 to 32 of a-z, 0-9 and -"));
    }
    fine.then_some(word)
}

/// An address that the gate itself asks. Only what runs on the same machine may be asked in the clear.
pub(super) fn web_address(faults: &Faults, key: &str, text: String, at: &Place) -> Option<String> {
    if is_web_address(&text) {
        return Some(text);
    }
    faults
        .note(at, format!("`{key}` must be an https address (http for this machine only), without user and fragment"));
    None
}

fn is_web_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    let plain = text.len() <= 2_048 && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'\\'));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let named = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'[' | b']' | b':'));
    let port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let here = host == "localhost" || address.is_ok_and(|ip| ip.is_loopback());
    plain && named && port && (scheme == "https" || (scheme == "http" && here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_is_asked_unless_it_is_this_machine() {
        for fine in [
            "https://id.example/keys",
            "https://id.example:8443/a?b=c",
            "https://id.example",
            "https://[2001:db8::1]/keys",
            "http://127.0.0.1:8080/keys",
            "http://[::1]:8080/keys",
            "http://localhost/keys",
        ] {
            assert!(is_web_address(fine), "{fine}");
        }
        for bad in [
            "",
            "id.example/keys",
            "http://id.example/keys",
            "http://127.0.0.1.example/keys",
            "http://localhost.example/keys",
            "http://localhost@id.example/keys",
            "http://id.example#@localhost",
            "https://user:secret@id.example/keys",
            "https:///keys",
            "https://id.example:99999/",
            "https://id.example/keys#a",
            "https://id.example/a b",
            "https://id.example\\@localhost/",
            "ftp://id.example/keys",
            "file:///etc/passwd",
        ] {
            assert!(!is_web_address(bad), "{bad}");
        }
    }
}
