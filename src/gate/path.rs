//! Paths that two readers could understand differently are refused, so that what the gate judged is what the origin sees.

use crate::api::code::Code;

/// # Errors
/// `invalid_path` for an encoded slash, backslash, NUL or control character, a backslash, or a dot segment in any spelling.
pub fn check(path: &str) -> Result<(), Code> {
    let clean = path.starts_with('/')
        && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
        && path.split('/').all(segment);
    if clean { Ok(()) } else { Err(Code::InvalidPath) }
}

fn segment(text: &str) -> bool {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            decoded.push(b);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => decoded.push(high * 16 + low),
            _ => return false,
        }
    }
    let forbidden = |b: &u8| matches!(b, b'/' | b'\\' | b'%' | 0..=31 | 127);
    !decoded.iter().any(forbidden) && decoded != b"." && decoded != b".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_encoded_paths_pass() {
        for path in ["/", "/v1/sales/demo/orders", "/v1/sales/%E6%98%B5", "/a//b", "/a...b/..c"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn paths_with_two_readings_are_refused() {
        let bad = [
            "",
            "a",
            "/a%2fb",
            "/a%2Fb",
            "/a\\b",
            "/a%5cb",
            "/a%00",
            "/./a",
            "/a/..",
            "/%2e%2E/a",
            "/.%2e",
            "/a%",
            "/a%zz",
            "/a%252fb",
            "/a b",
            "/é",
            "/a%0d%0a",
        ];
        for path in bad {
            assert_eq!(check(path), Err(Code::InvalidPath), "{path:?}");
        }
    }
}
