//! From bytes to commands: JSON bodies and path-style addresses.

use bytes::Bytes;
use percent_encoding::percent_decode;
use serde_json::value::RawValue;

/// One Redis command: its name and arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command(Vec<Bytes>);

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// One command, one answer.
    Single(Command),
    /// Commands in order, each with its own answer.
    Pipeline(Vec<Command>),
    /// Commands that run with nobody else's in between, or not at all.
    Transaction(Vec<Command>),
}

impl Request {
    /// How many commands it holds.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(_) => 1,
            Self::Pipeline(commands) | Self::Transaction(commands) => commands.len(),
        }
    }

    /// Whether it holds none, which parsing refuses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a request is not understood. The text never holds the client's data.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Not the JSON that is expected.
    #[error("ERR failed to parse the request: a JSON array of {expected} is expected (line {line}, column {column})")]
    Json {
        /// What the array should hold.
        expected: &'static str,
        /// Where parsing stopped.
        line: usize,
        /// Where parsing stopped.
        column: usize,
    },
    /// An argument that is an array or an object.
    #[error("ERR failed to parse the request: a command's arguments are strings, numbers, booleans or null")]
    Nested,
    /// No command at all.
    #[error("ERR empty command")]
    Empty,
    /// No command in a pipeline or transaction.
    #[error("ERR empty pipeline request")]
    EmptyPipeline,
}

impl Command {
    /// A command from its parts; `None` without a name.
    pub fn new(parts: Vec<Bytes>) -> Option<Self> {
        parts.first().is_some_and(|name| !name.is_empty()).then_some(Self(parts))
    }

    /// A command of the bridge's own.
    pub(crate) fn of<const N: usize>(parts: [&'static str; N]) -> Self {
        Self(parts.iter().map(|part| Bytes::from_static(part.as_bytes())).collect())
    }

    /// The name in upper case.
    pub fn name(&self) -> Vec<u8> {
        self.0.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default()
    }

    /// Another name for the same arguments.
    pub fn rename(&mut self, name: &'static str) {
        if let Some(first) = self.0.first_mut() {
            *first = Bytes::from_static(name.as_bytes());
        }
    }

    /// Everything after the name.
    pub fn arguments(&self) -> &[Bytes] {
        self.0.get(1..).unwrap_or_default()
    }

    /// Everything after the name, to be changed.
    pub fn arguments_mut(&mut self) -> &mut [Bytes] {
        self.0.get_mut(1..).unwrap_or_default()
    }

    /// Name and arguments.
    pub fn parts(&self) -> &[Bytes] {
        &self.0
    }
}

/// A body that is one command: `["SET","k",1]`.
pub fn single(body: &Bytes) -> Result<Command, BadRequest> {
    command(body, serde_json::from_slice(body).map_err(|error| json("arguments", &error))?)
}

/// A body that is a list of commands: `[["SET","k",1],["GET","k"]]`.
pub fn list(body: &Bytes) -> Result<Vec<Command>, BadRequest> {
    let commands: Vec<Vec<&RawValue>> = serde_json::from_slice(body).map_err(|error| json("commands", &error))?;
    if commands.is_empty() {
        return Err(BadRequest::EmptyPipeline);
    }
    commands.into_iter().map(|parts| command(body, parts)).collect()
}

fn json(expected: &'static str, error: &serde_json::Error) -> BadRequest {
    BadRequest::Json { expected, line: error.line(), column: error.column() }
}

fn command(body: &Bytes, parts: Vec<&RawValue>) -> Result<Command, BadRequest> {
    let parts = parts.into_iter().map(|raw| argument(body, raw)).collect::<Result<_, _>>()?;
    Command::new(parts).ok_or(BadRequest::Empty)
}

/// Strings lose their quotes; numbers, booleans and null travel as they were written, so no digit is lost. What
/// has no escapes is a slice of the body.
fn argument(body: &Bytes, raw: &RawValue) -> Result<Bytes, BadRequest> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') if !text.contains('\\') => {
            let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
            Ok(body.slice_ref(inner.as_bytes()))
        }
        Some(b'"') => serde_json::from_str::<String>(text).map(Bytes::from).map_err(|error| json("arguments", &error)),
        Some(b'[' | b'{') | None => Err(BadRequest::Nested),
        Some(_) => Ok(body.slice_ref(text.as_bytes())),
    }
}

/// A command in the address: `/set/key/value?EX=100`, with the body, if any, as the last argument before the query.
pub fn path_style(path: &str, query: &Query, body: Option<&Bytes>) -> Result<Command, BadRequest> {
    let path = path.strip_prefix('/').unwrap_or(path);
    if path.is_empty() {
        return Err(BadRequest::Empty);
    }
    let segments = path.split('/').map(|segment| percent_decode(segment.as_bytes()).collect::<Vec<u8>>().into());
    let body = body.filter(|body| !body.is_empty()).cloned();
    let parts = segments.chain(body).chain(query.arguments.iter().cloned()).collect();
    Command::new(parts).ok_or(BadRequest::Empty)
}

/// A query string, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The value of `_token`, if there is one.
    pub token: Option<Bytes>,
    /// All other names and values, in order; a bare name has no value.
    pub arguments: Vec<Bytes>,
}

impl Query {
    /// Reads `a=1&NX&_token=…`.
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = match pair.split_once('=') {
                Some((name, value)) => (form_decode(name), Some(form_decode(value))),
                None => (form_decode(pair), None),
            };
            if name == b"_token"[..] {
                parsed.token = value;
            } else {
                parsed.arguments.push(name);
                parsed.arguments.extend(value);
            }
        }
        parsed
    }
}

fn form_decode(text: &str) -> Bytes {
    percent_decode(text.replace('+', " ").as_bytes()).collect::<Vec<u8>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(body: &[u8]) -> Result<Command, BadRequest> {
        super::single(&Bytes::copy_from_slice(body))
    }

    fn list(body: &[u8]) -> Result<Vec<Command>, BadRequest> {
        super::list(&Bytes::copy_from_slice(body))
    }

    fn parts(command: &Command) -> Vec<&str> {
        command.parts().iter().map(|part| str::from_utf8(part).unwrap()).collect()
    }

    #[test]
    fn numbers_keep_every_digit() {
        let command = single(br#"["set","k",9007199254740993,101660004000155481467,1.50,-0,1e3]"#).unwrap();
        assert_eq!(parts(&command), ["set", "k", "9007199254740993", "101660004000155481467", "1.50", "-0", "1e3"]);
    }

    #[test]
    fn booleans_null_and_escapes() {
        let command = single(r#" [ "set" , true,false,null,"é\n\u0000\"" ] "#.as_bytes()).unwrap();
        assert_eq!(parts(&command), ["set", "true", "false", "null", "é\n\0\""]);
    }

    #[test]
    fn what_is_not_a_flat_array_is_refused() {
        assert_eq!(single(b"[]"), Err(BadRequest::Empty));
        assert_eq!(single(br#"[""]"#), Err(BadRequest::Empty));
        assert_eq!(single(br#"["set",["a"]]"#), Err(BadRequest::Nested));
        assert_eq!(single(br#"["set",{"a":1}]"#), Err(BadRequest::Nested));
        assert_eq!(list(b"[]"), Err(BadRequest::EmptyPipeline));
        assert_eq!(list(br#"[["get","a"],[]]"#), Err(BadRequest::Empty));
        let bad_json: [&[u8]; 8] = [b"", b"{}", b"\"get\"", b"[1", b"[1]x", b"[\"\\ud800\"]", b"[\"\xff\"]", b"null"];
        for bad in bad_json {
            assert!(matches!(single(bad), Err(BadRequest::Json { .. })), "{bad:?}");
        }
        assert!(matches!(list(br#"["get","a"]"#), Err(BadRequest::Json { .. })));
    }

    #[test]
    fn path_segments_are_decoded_after_splitting() {
        let query = Query::parse("EX=100&NX&_token=a%2Bb&x=");
        assert_eq!(query.token.as_deref(), Some(&b"a+b"[..]));
        let command = path_style("/set/a%2Fb%20c/v+w", &query, None).unwrap();
        assert_eq!(parts(&command), ["set", "a/b c", "v+w", "EX", "100", "NX", "x", ""]);
    }

    #[test]
    fn a_raw_body_comes_before_the_query() {
        let query = Query::parse("EX=1");
        let command = path_style("/set/k", &query, Some(&Bytes::from_static(b"{\"a\": 1}"))).unwrap();
        assert_eq!(parts(&command), ["set", "k", "{\"a\": 1}", "EX", "1"]);
        let command = path_style("/get/k", &Query::default(), Some(&Bytes::new())).unwrap();
        assert_eq!(parts(&command), ["get", "k"]);
    }

    #[test]
    fn bytes_that_are_no_text_pass_in_a_path() {
        let command = path_style("/get/%ff%00", &Query::default(), None).unwrap();
        assert_eq!(command.arguments(), [Bytes::from_static(b"\xff\0")]);
        assert_eq!(path_style("/", &Query::default(), None), Err(BadRequest::Empty));
        assert_eq!(path_style("//get", &Query::default(), None), Err(BadRequest::Empty));
    }
}
