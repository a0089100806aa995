//! The Redis protocol as bytes: commands written, replies found and taken apart without being copied.
//!
//! Replies are kept as the bytes that Redis sent. So an error line that is not UTF-8 harms nobody, the two kinds
//! of null stay apart, and `Upstash-Response-Format: resp2` gives exactly what Redis said.

use crate::request::Command;

/// Appends a command as an array of bulk strings.
pub fn encode(out: &mut Vec<u8>, command: &Command) {
    header(out, b'*', command.parts().len());
    for part in command.parts() {
        bulk(out, part);
    }
}

/// Appends a bulk string.
pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends a line with a length.
pub fn header(out: &mut Vec<u8>, kind: u8, length: usize) {
    let mut digits = [0u8; 20];
    let (mut rest, mut start) = (length, digits.len());
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        (rest, start) = (rest / 10, place);
        if rest == 0 {
            break;
        }
    }
    out.push(kind);
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
    out.extend_from_slice(b"\r\n");
}

/// One reply, or the head of one: the items of an aggregate follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head<'a> {
    /// `+OK`
    Status(&'a [u8]),
    /// `-ERR …`, also RESP3's bulk error.
    Error(&'a [u8]),
    /// `:7`
    Integer(&'a [u8]),
    /// `$3`, also RESP3's verbatim string without its format.
    Bulk(&'a [u8]),
    /// The null string, the null array and RESP3's null.
    Null,
    /// Arrays, sets and pushes with so many items.
    Array(usize),
    /// A map with so many pairs.
    Map(usize),
    /// `#t`
    Boolean(bool),
    /// A double or a big number, as it is written.
    Number(&'a [u8]),
    /// So many pairs about the reply that follows them.
    Attribute(usize),
}

/// What cannot be a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply is not the Redis protocol")]
pub struct Malformed;

/// Takes the head of a reply off the front of `bytes`: `None` if it is not complete.
pub fn take<'a>(bytes: &mut &'a [u8]) -> Result<Option<Head<'a>>, Malformed> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let (line, rest) = bytes.split_at_checked(end + 1).ok_or(Malformed)?;
    let line = line.strip_suffix(b"\r\n").ok_or(Malformed)?;
    let (kind, line) = line.split_first().ok_or(Malformed)?;
    let head = match kind {
        b'+' => Head::Status(line),
        b'-' => Head::Error(line),
        b':' => Head::Integer(line),
        b'_' => Head::Null,
        b'#' => Head::Boolean(line == b"t"),
        b',' | b'(' => Head::Number(line),
        b'$' | b'=' | b'!' | b'*' | b'~' | b'>' | b'%' | b'|' => {
            let Some(length) = length(line)? else {
                *bytes = rest;
                return Ok(Some(Head::Null));
            };
            match kind {
                b'*' | b'~' | b'>' => Head::Array(length),
                b'%' => Head::Map(length),
                b'|' => Head::Attribute(length),
                _ => return Ok(take_string(bytes, rest, *kind, length)),
            }
        }
        _ => return Err(Malformed),
    };
    *bytes = rest;
    Ok(Some(head))
}

fn take_string<'a>(bytes: &mut &'a [u8], rest: &'a [u8], kind: u8, length: usize) -> Option<Head<'a>> {
    let (string, after) = rest.split_at_checked(length)?;
    *bytes = after.get(2..)?;
    Some(match kind {
        b'!' => Head::Error(string),
        b'=' => Head::Bulk(string.get(4..).unwrap_or_default()),
        _ => Head::Bulk(string),
    })
}

/// The length in a line; `None` for the null's -1.
fn length(line: &[u8]) -> Result<Option<usize>, Malformed> {
    if line == b"-1" {
        return Ok(None);
    }
    str::from_utf8(line).ok().and_then(|text| text.parse().ok()).filter(|n| *n < 1 << 40).map(Some).ok_or(Malformed)
}

/// Finds the end of a number of replies in bytes that arrive piece by piece.
#[derive(Debug)]
pub struct Scanner {
    pending: usize,
    at: usize,
}

impl Scanner {
    /// Looks for the end of so many replies.
    pub fn new(replies: usize) -> Self {
        Self { pending: replies, at: 0 }
    }

    /// Goes on where it stopped; `bytes` start where the first reply does. The end, once all replies are there.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut rest = bytes.get(self.at..).ok_or(Malformed)?;
        while self.pending > 0 {
            let Some(head) = take(&mut rest)? else { break };
            let items = match head {
                Head::Array(items) => items,
                Head::Map(pairs) => pairs * 2,
                // The reply itself comes after its attributes.
                Head::Attribute(pairs) => pairs * 2 + 1,
                _ => 0,
            };
            self.pending = self.pending - 1 + items;
            self.at = bytes.len() - rest.len();
        }
        Ok((self.pending == 0).then_some(self.at))
    }
}

/// Takes one whole reply off the front: its bytes.
pub fn next_reply<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = Scanner::new(1).advance(bytes).ok()??;
    let (reply, rest) = bytes.split_at_checked(end)?;
    *bytes = rest;
    Some(reply)
}

/// The error in a reply, if it is one.
pub fn error(reply: &[u8]) -> Option<&[u8]> {
    match take(&mut &*reply) {
        Ok(Some(Head::Error(text))) => Some(text),
        _ => None,
    }
}

/// A reply taken apart, for the few that the bridge reads itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree<'a> {
    /// Anything but an aggregate.
    Leaf(Head<'a>),
    /// The items of an array, or names and values of a map in turn.
    Items(Vec<Tree<'a>>),
}

impl<'a> Tree<'a> {
    /// Reads one reply.
    pub fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let items = match take(bytes).ok()?? {
            Head::Array(items) => items,
            Head::Map(pairs) => pairs * 2,
            head => return Some(Self::Leaf(head)),
        };
        (0..items).map(|_| Self::read(bytes)).collect::<Option<_>>().map(Self::Items)
    }

    /// The items; none for a leaf.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Items(items) => items,
            Self::Leaf(_) => &[],
        }
    }

    /// The bytes of a status or string.
    pub fn text(&self) -> &'a [u8] {
        match self {
            Self::Leaf(Head::Bulk(text) | Head::Status(text) | Head::Integer(text)) => text,
            _ => &[],
        }
    }

    /// An integer, also one in a string.
    pub fn integer(&self) -> Option<i64> {
        str::from_utf8(self.text()).ok()?.parse().ok()
    }

    /// The value behind a name in a list of names and values.
    pub fn named(&self, name: &[u8]) -> Option<&Self> {
        self.items().as_chunks::<2>().0.iter().find(|[key, _]| key.text() == name).map(|[_, value]| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let command = Command::new(vec![Bytes::from_static(b"SET"), Bytes::from_static(b"k\r\n"), Bytes::new()]);
        let mut out = Vec::new();
        encode(&mut out, &command.unwrap());
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n");
        let mut out = Vec::new();
        header(&mut out, b'*', 1_234_567_890);
        assert_eq!(out, b"*1234567890\r\n");
    }

    #[test]
    fn the_end_is_found_however_the_bytes_arrive() {
        let replies: &[u8] =
            b"*3\r\n$5\r\n\xff+\r\n-\r\n-ERR \xe4\r\n*1\r\n$-1\r\n:7\r\n%1\r\n+a\r\n*-1\r\n|1\r\n+x\r\n:1\r\n#t\r\n";
        let next = b"+OK\r\n";
        let all = [replies, next].concat();
        let mut scanner = Scanner::new(4);
        for cut in 0..replies.len() {
            assert_eq!(scanner.advance(&all[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(scanner.advance(&all), Ok(Some(replies.len())));
        assert_eq!(Scanner::new(4).advance(&all), Ok(Some(replies.len())));
    }

    #[test]
    fn what_is_not_the_protocol_is_an_error() {
        for bad in [&b"HTTP/1.1 400\r\n"[..], b"\r\n", b"\n", b"+OK\n", b"$x\r\n", b"*-2\r\n", b"$99999999999999\r\n"] {
            assert_eq!(Scanner::new(1).advance(bad), Err(Malformed), "{bad:?}");
        }
    }

    #[test]
    fn replies_come_off_one_by_one() {
        let mut bytes: &[u8] = b"*1\r\n:1\r\n-NOSCRIPT x\r\n$2\r\nab\r\n";
        assert_eq!(next_reply(&mut bytes), Some(&b"*1\r\n:1\r\n"[..]));
        assert_eq!(next_reply(&mut bytes).and_then(error), Some(&b"NOSCRIPT x"[..]));
        assert_eq!(next_reply(&mut bytes), Some(&b"$2\r\nab\r\n"[..]));
        assert_eq!(next_reply(&mut bytes), None);
    }
}
