//! `traceparent` (W3C Trace Context): one that is valid is passed on as it came, for the gate is no span of its own; else
//! one is made from the request's id, so that traces and the gate's log name the request alike.

use std::fmt::Write as _;

use crate::digest::Tag;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Sees to it that `headers` hold exactly one valid `traceparent`; a `tracestate` stays only with the client's own.
pub(super) fn ensure(headers: &mut Vec<(String, String)>, id: &Tag) {
    let mut own = headers.iter().filter(|(name, _)| name == TRACEPARENT).map(|(_, value)| value.as_str());
    if let (Some(value), None) = (own.next(), own.next())
        && is_valid(value)
    {
        return;
    }
    headers.retain(|(name, _)| name != TRACEPARENT && name != TRACESTATE);
    headers.push((TRACEPARENT.to_owned(), made(id)));
}

/// `version-trace-parent-flags`; a version that is not known may have more behind its flags.
fn is_valid(value: &str) -> bool {
    let mut parts = value.split('-');
    let mut hex = |length: usize| {
        let part = parts.next()?;
        let fine = part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        fine.then_some(part)
    };
    let (Some(version), Some(trace), Some(parent), Some(_)) = (hex(2), hex(32), hex(16), hex(2)) else { return false };
    let is_zero = |part: &str| part.bytes().all(|b| b == b'0');
    version != "ff" && !is_zero(trace) && !is_zero(parent) && (version != "00" || parts.next().is_none())
}

/// Not sampled: whether a trace is kept is for the origin to say.
fn made(id: &Tag) -> String {
    let mut value = String::with_capacity(55);
    value.push_str("00-");
    // Writing to a String cannot fail. A lowest bit that is set keeps both ids from being zero, which none may be.
    let _ = write!(value, "{:032x}", u128::from_be_bytes(id.bytes()) | 1);
    value.push('-');
    let _ = write!(value, "{:016x}", u64::from_be_bytes(first_half(id.bytes())) | 1);
    value + "-00"
}

fn first_half([a, b, c, d, e, f, g, h, ..]: [u8; 16]) -> [u8; 8] {
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn ensured(values: &[&str]) -> Vec<(String, String)> {
        let mut headers = vec![(TRACESTATE.to_owned(), "a=b".to_owned())];
        headers.extend(values.iter().map(|value| (TRACEPARENT.to_owned(), (*value).to_owned())));
        ensure(&mut headers, &Tag::of_bytes([0xab; 16]));
        headers
    }

    #[test]
    fn a_valid_one_is_passed_on_with_its_state() {
        for value in [VALID, "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"] {
            let expected = [("tracestate", "a=b"), ("traceparent", value)].map(|(n, v)| (n.to_owned(), v.to_owned()));
            assert_eq!(ensured(&[value]), expected);
        }
    }

    #[test]
    fn anything_else_is_replaced_and_its_state_dropped() {
        let made = "00-abababababababababababababababab-abababababababab-00";
        let bad = [
            "",
            "nonsense",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1é",
        ];
        for value in bad {
            assert_eq!(ensured(&[value]), [(TRACEPARENT.to_owned(), made.to_owned())], "{value}");
        }
        assert_eq!(ensured(&[]), [(TRACEPARENT.to_owned(), made.to_owned())]);
        assert_eq!(ensured(&[VALID, VALID]).len(), 1, "two of them would let readers choose");
        assert!(is_valid(made));
    }

    #[test]
    fn the_id_of_nothing_but_zeros_still_makes_a_valid_one() {
        assert!(is_valid(&super::made(&Tag::of_bytes([0; 16]))));
    }
}
