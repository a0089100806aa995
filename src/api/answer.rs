//! A finished operation's answer, as it is kept in the claim record and replayed byte for byte.
//!
//! One text: the status (3 digits), the code (empty on success) and a line feed, a line `name:value` a header,
//! an empty line, then `t` and the body, or `b` and the body in base64 when it is not UTF-8.
//! It must be text because it crosses a REST interface as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::response::Response;

/// Headers that are kept with an answer. All others belong to one delivery only (`Set-Cookie`, `Date`, …).
pub const KEPT: &[&str] = &["content-type", "content-language", "location", "etag"];

/// Stands in a template where the script puts the order id. No header value and no JSON text can hold it.
pub const ORDER_ID: char = '\u{1}';

/// Packs the part of `response` that a replay repeats; `code` is the problem's code, empty on success.
#[must_use]
pub fn pack(response: &Response, code: &str) -> String {
    let mut out = format!("{:03}{code}\n", response.status);
    for (name, value) in response.headers.iter().filter(|(name, _)| KEPT.contains(&name.as_ref())) {
        out.push_str(name);
        out.push(':');
        out.push_str(value);
        out.push('\n');
    }
    out.push('\n');
    match std::str::from_utf8(&response.body) {
        Ok(text) => {
            out.push('t');
            out.push_str(text);
        }
        Err(_) => {
            out.push('b');
            STANDARD.encode_string(&response.body, &mut out);
        }
    }
    out
}

/// The answer again; `None` when the text is not one that [`pack`] wrote.
#[must_use]
pub fn unpack(text: &str) -> Option<Response> {
    let (head, rest) = text.split_once('\n')?;
    let mut response = Response::new(head.get(..3)?.parse().ok().filter(|s| (100..600).contains(s))?);
    let mut rest = rest;
    loop {
        let (line, after) = rest.split_once('\n')?;
        rest = after;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        response.header(name.to_owned(), value);
    }
    response.body = match rest.split_at_checked(1)? {
        ("t", body) => body.as_bytes().to_vec(),
        ("b", body) => STANDARD.decode(body).ok()?,
        _ => return None,
    };
    Some(response)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn r_granit_dotnet_pr1151_cookies_are_not_kept() {
        let mut response = Response::json(201, b"{}".to_vec());
        response.header("set-cookie", "a=b");
        response.header("location", "/v1/orders/1");
        let again = unpack(&pack(&response, "")).unwrap();
        assert_eq!(again.get("set-cookie"), None);
        assert_eq!(again.get("location"), Some("/v1/orders/1"));
    }

    #[test]
    fn garbage_is_no_answer() {
        for text in [
            "",
            "2",
            "200",
            "200\n",
            "200\n\n",
            "200\n\nx",
            "999\n\nt",
            "abc\n\nt",
            "200\nno colon\n\nt",
            "200\n\nb***",
            "é\n\nt",
        ] {
            assert_eq!(unpack(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_is_replayed_byte_for_byte(status in 200u16..600, body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut response = Response::json(status, body);
            response.header("location", "/v1/orders/0-1");
            prop_assert_eq!(unpack(&pack(&response, "code")), Some(response));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = unpack(&text);
        }
    }
}
