//! From Redis' replies to what the client asked for: JSON, JSON with base64, or the replies as they are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::resp::{self, Head};

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON; bytes that are not UTF-8 become U+FFFD.
    Plain,
    /// JSON with strings as base64, except the status OK.
    Base64,
    /// The Redis protocol.
    Resp2,
}

impl Format {
    /// The content type of an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Plain | Self::Base64 => "application/json",
            Self::Resp2 => "application/octet-stream",
        }
    }
}

/// One reply: `{"result":…}`, or `{"error":…}` for an error.
pub fn write_item(out: &mut Vec<u8>, reply: &[u8], format: Format) {
    if format == Format::Resp2 {
        return out.extend_from_slice(reply);
    }
    if let Some(error) = resp::error(reply) {
        return write_error(out, error, format);
    }
    out.extend_from_slice(b"{\"result\":");
    write_value(out, &mut &*reply, format);
    out.push(b'}');
}

/// An error.
pub fn write_error(out: &mut Vec<u8>, text: &[u8], format: Format) {
    if format == Format::Resp2 {
        out.push(b'-');
        out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
        return out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"{\"error\":");
    write_text(out, text);
    out.push(b'}');
}

/// What stands around and between so many items.
pub struct List {
    format: Format,
    first: bool,
}

impl List {
    /// Opens a list.
    pub fn open(out: &mut Vec<u8>, items: usize, format: Format) -> Self {
        match format {
            Format::Resp2 => resp::header(out, b'*', items),
            _ => out.push(b'['),
        }
        Self { format, first: true }
    }

    /// Before each item.
    pub fn next(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.first) && self.format != Format::Resp2 {
            out.push(b',');
        }
    }

    /// After the last one.
    pub fn close(self, out: &mut Vec<u8>) {
        if self.format != Format::Resp2 {
            out.push(b']');
        }
    }
}

/// Writes the value at the front of `reply`. RESP3's kinds are written as RESP2 would have them.
fn write_value(out: &mut Vec<u8>, reply: &mut &[u8], format: Format) {
    match resp::take(reply) {
        Ok(Some(Head::Integer(digits))) => out.extend_from_slice(digits),
        Ok(Some(Head::Bulk(bytes) | Head::Number(bytes))) => write_string(out, bytes, format),
        Ok(Some(Head::Status(b"OK"))) => out.extend_from_slice(b"\"OK\""),
        Ok(Some(Head::Status(bytes))) => write_string(out, bytes, format),
        Ok(Some(Head::Array(items))) => write_items(out, items, reply, format),
        Ok(Some(Head::Map(pairs))) => write_items(out, pairs * 2, reply, format),
        Ok(Some(Head::Boolean(flag))) => out.push(if flag { b'1' } else { b'0' }),
        // An error among the values that a script returns. Errors are never encoded.
        Ok(Some(Head::Error(text))) => write_text(out, text),
        Ok(Some(Head::Attribute(pairs))) => {
            let mut skipped = Vec::new();
            write_items(&mut skipped, pairs * 2, reply, format);
            write_value(out, reply, format);
        }
        Ok(Some(Head::Null) | None) | Err(_) => out.extend_from_slice(b"null"),
    }
}

fn write_items(out: &mut Vec<u8>, items: usize, reply: &mut &[u8], format: Format) {
    out.push(b'[');
    for index in 0..items {
        if index > 0 {
            out.push(b',');
        }
        write_value(out, reply, format);
    }
    out.push(b']');
}

fn write_string(out: &mut Vec<u8>, bytes: &[u8], format: Format) {
    match format {
        Format::Base64 => {
            out.push(b'"');
            out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
            out.push(b'"');
        }
        _ => write_text(out, bytes),
    }
}

fn write_text(out: &mut Vec<u8>, bytes: &[u8]) {
    // Writing a string into memory cannot fail.
    let _ = serde_json::to_writer(out, &String::from_utf8_lossy(bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(resp: &[u8], format: Format) -> String {
        let mut out = Vec::new();
        write_item(&mut out, resp, format);
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
            assert_eq!(item(resp, Format::Plain), json);
            assert_eq!(item_bytes(resp), resp);
        }
    }

    fn item_bytes(resp: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_item(&mut out, resp, Format::Resp2);
        out
    }

    #[test]
    fn resp3_replies_as_resp2_would_have_them() {
        for (resp, json) in [
            (&b"_\r\n"[..], "null"),
            (b"#t\r\n", "1"),
            (b"#f\r\n", "0"),
            (b",1.50\r\n", r#""1.50""#),
            (b",inf\r\n", r#""inf""#),
            (b"(3492890328409238509324850943850943825024385\r\n", r#""3492890328409238509324850943850943825024385""#),
            (b"=8\r\ntxt:abcd\r\n", r#""abcd""#),
            (b"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", r#"["a",1,"b",[2]]"#),
            (b"~2\r\n:1\r\n:2\r\n", "[1,2]"),
            (b">2\r\n+message\r\n:2\r\n", r#"["message",2]"#),
            (b"|1\r\n+ttl\r\n:3600\r\n*1\r\n:7\r\n", "[7]"),
        ] {
            assert_eq!(item(resp, Format::Plain), format!("{{\"result\":{json}}}"));
        }
        assert_eq!(item(b"!9\r\nERR a\nb c\r\n", Format::Plain), r#"{"error":"ERR a\nb c"}"#);
    }

    #[test]
    fn base64_reaches_nested_strings_but_not_ok() {
        let resp = b"*4\r\n+OK\r\n$2\r\nOK\r\n*1\r\n$1\r\n\xff\r\n:7\r\n";
        assert_eq!(item(resp, Format::Base64), r#"{"result":["OK","T0s=",["/w=="],7]}"#);
        assert_eq!(item(b"+PONG\r\n", Format::Base64), r#"{"result":"UE9ORw=="}"#);
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
            assert_eq!(item(resp.as_bytes(), Format::Base64), json);
        }
        assert_eq!(item(b"-ERR \xe4\xbd\r\n", Format::Plain), "{\"error\":\"ERR \u{fffd}\"}");
    }

    #[test]
    fn an_error_of_ours_cannot_break_the_protocol() {
        let mut out = Vec::new();
        write_error(&mut out, b"ERR 'a\r\n+OK'", Format::Resp2);
        assert_eq!(out, b"-ERR 'a  +OK'\r\n");
    }
}
