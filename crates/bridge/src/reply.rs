//! From Redis' replies to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use redis::{ServerError, Value};

use crate::wire;

/// How strings inside results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As text; bytes that are not UTF-8 become U+FFFD.
    Plain,
    /// As base64, except the status OK.
    Base64,
}

/// Redis' own words for an error. The `redis` crate keeps the first word apart from the rest.
pub fn error_text(error: &ServerError) -> String {
    let text = match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    };
    String::from_utf8_lossy(&wire::unfold(&text)).into_owned()
}

/// `{"result":…}`, or `{"error":…}` for an error.
pub fn write_item(out: &mut Vec<u8>, value: &Value, encoding: Encoding) {
    if let Value::ServerError(error) = value {
        return write_error(out, &error_text(error));
    }
    out.extend_from_slice(b"{\"result\":");
    write_value(out, value, encoding);
    out.push(b'}');
}

/// `{"error":…}`.
pub fn write_error(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"error\":");
    write_text(out, text);
    out.push(b'}');
}

/// A comma between items, a bracket around them.
pub fn write_list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn write_value(out: &mut Vec<u8>, value: &Value, encoding: Encoding) {
    match value {
        Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::BulkString(bytes) => write_string(out, bytes, encoding),
        Value::Okay => out.extend_from_slice(b"\"OK\""),
        Value::SimpleString(text) => write_string(out, &wire::unfold(text), encoding),
        Value::Array(items) | Value::Set(items) => {
            write_list(out, items, |out, item| write_value(out, item, encoding));
        }
        // An error among the values that a script returns. Errors are never encoded.
        Value::ServerError(error) => write_text(out, &error_text(error)),
        // The rest is RESP3, which the bridge does not ask for: written as RESP2 would have it.
        Value::Map(pairs) => {
            let flat = pairs.iter().flat_map(|(key, value)| [key, value]);
            write_list(out, flat, |out, item| write_value(out, item, encoding));
        }
        Value::Boolean(flag) => out.push(if *flag { b'1' } else { b'0' }),
        Value::Double(number) => write_string(out, number.to_string().as_bytes(), encoding),
        Value::VerbatimString { text, .. } => write_string(out, text.as_bytes(), encoding),
        Value::Attribute { data, .. } => write_value(out, data, encoding),
        _ => out.extend_from_slice(b"null"),
    }
}

fn write_string(out: &mut Vec<u8>, bytes: &[u8], encoding: Encoding) {
    match encoding {
        Encoding::Plain => write_text(out, &String::from_utf8_lossy(bytes)),
        Encoding::Base64 => {
            out.push(b'"');
            out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
            out.push(b'"');
        }
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    // Writing a string into memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(resp: &[u8], encoding: Encoding) -> String {
        let mut out = Vec::new();
        write_item(&mut out, &redis::parse_redis_value(resp).unwrap(), encoding);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn resp2_replies_as_json() {
        for (resp, json) in [
            (&b"$-1\r\n"[..], r#"{"result":null}"#),
            (b"*-1\r\n", r#"{"result":null}"#),
            (b"+OK\r\n", r#"{"result":"OK"}"#),
            (b"+PONG\r\n", r#"{"result":"PONG"}"#),
            (b":9223372036854775807\r\n", r#"{"result":9223372036854775807}"#),
            (b"$4\r\na\"\n\\\r\n", r#"{"result":"a\"\n\\"}"#),
            (b"$2\r\n\xffa\r\n", "{\"result\":\"\u{fffd}a\"}"),
            (b"*3\r\n:1\r\n*0\r\n$-1\r\n", r#"{"result":[1,[],null]}"#),
        ] {
            assert_eq!(item(resp, Encoding::Plain), json);
        }
    }

    #[test]
    fn base64_reaches_nested_strings_but_not_ok() {
        let resp = b"*4\r\n+OK\r\n$2\r\nOK\r\n*1\r\n$1\r\n\xff\r\n:7\r\n";
        assert_eq!(item(resp, Encoding::Base64), r#"{"result":["OK","T0s=",["/w=="],7]}"#);
        assert_eq!(item(b"+PONG\r\n", Encoding::Base64), r#"{"result":"UE9ORw=="}"#);
    }

    #[test]
    fn errors_are_verbatim_and_never_encoded() {
        for text in [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "NOSCRIPT No matching script. Please use EVAL.",
            "ERR unknown command 'FOO', with args beginning with: ",
            "BUSY  two spaces",
            "ERR",
            "CUSTOM",
        ] {
            let resp = format!("-{text}\r\n");
            let json = format!("{{\"error\":\"{text}\"}}");
            assert_eq!(item(resp.as_bytes(), Encoding::Base64), json);
        }
    }
}
