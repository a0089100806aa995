//! From bytes to commands: JSON bodies and path-style addresses.

use percent_encoding::percent_decode;
use serde_json::value::RawValue;

/// One Redis command: its name and arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command(Vec<Vec<u8>>);

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
    pub fn new(parts: Vec<Vec<u8>>) -> Option<Self> {
        parts.first().is_some_and(|name| !name.is_empty()).then_some(Self(parts))
    }

    /// The name in upper case.
    pub fn name(&self) -> Vec<u8> {
        self.0.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default()
    }

    /// Everything after the name.
    pub fn arguments(&self) -> &[Vec<u8>] {
        self.0.get(1..).unwrap_or_default()
    }

    /// Everything after the name, to be changed.
    pub fn arguments_mut(&mut self) -> &mut [Vec<u8>] {
        self.0.get_mut(1..).unwrap_or_default()
    }

    /// Name and arguments.
    pub fn parts(&self) -> &[Vec<u8>] {
        &self.0
    }
}

/// A body that is one command: `["SET","k",1]`.
pub fn single(body: &[u8]) -> Result<Command, BadRequest> {
    command(serde_json::from_slice(body).map_err(|error| json("arguments", &error))?)
}

/// A body that is a list of commands: `[["SET","k",1],["GET","k"]]`.
pub fn list(body: &[u8]) -> Result<Vec<Command>, BadRequest> {
    let commands: Vec<Vec<&RawValue>> = serde_json::from_slice(body).map_err(|error| json("commands", &error))?;
    if commands.is_empty() {
        return Err(BadRequest::EmptyPipeline);
    }
    commands.into_iter().map(command).collect()
}

fn json(expected: &'static str, error: &serde_json::Error) -> BadRequest {
    BadRequest::Json { expected, line: error.line(), column: error.column() }
}

fn command(parts: Vec<&RawValue>) -> Result<Command, BadRequest> {
    let parts = parts.into_iter().map(argument).collect::<Result<_, _>>()?;
    Command::new(parts).ok_or(BadRequest::Empty)
}

/// Strings lose their quotes; numbers, booleans and null travel as they were written, so no digit is lost.
fn argument(raw: &RawValue) -> Result<Vec<u8>, BadRequest> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => {
            serde_json::from_str::<String>(text).map(String::into_bytes).map_err(|error| json("arguments", &error))
        }
        Some(b'[' | b'{') | None => Err(BadRequest::Nested),
        Some(_) => Ok(text.as_bytes().to_vec()),
    }
}

/// A command in the address: `/set/key/value?EX=100`, with the body, if any, as the last argument before the query.
pub fn path_style(path: &str, query: &Query, body: Option<&[u8]>) -> Result<Command, BadRequest> {
    let path = path.strip_prefix('/').unwrap_or(path);
    if path.is_empty() {
        return Err(BadRequest::Empty);
    }
    let segments = path.split('/').map(|segment| percent_decode(segment.as_bytes()).collect());
    let body = body.filter(|body| !body.is_empty()).map(<[u8]>::to_vec);
    let parts = segments.chain(body).chain(query.arguments.iter().cloned()).collect();
    Command::new(parts).ok_or(BadRequest::Empty)
}

/// A query string, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The value of `_token`, if there is one.
    pub token: Option<Vec<u8>>,
    /// All other names and values, in order; a bare name has no value.
    pub arguments: Vec<Vec<u8>>,
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
            if name == b"_token" {
                parsed.token = value;
            } else {
                parsed.arguments.push(name);
                parsed.arguments.extend(value);
            }
        }
        parsed
    }
}

fn form_decode(text: &str) -> Vec<u8> {
    percent_decode(text.replace('+', " ").as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let command = path_style("/set/k", &query, Some(b"{\"a\": 1}")).unwrap();
        assert_eq!(parts(&command), ["set", "k", "{\"a\": 1}", "EX", "1"]);
        let command = path_style("/get/k", &Query::default(), Some(b"")).unwrap();
        assert_eq!(parts(&command), ["get", "k"]);
    }

    #[test]
    fn bytes_that_are_no_text_pass_in_a_path() {
        let command = path_style("/get/%ff%00", &Query::default(), None).unwrap();
        assert_eq!(command.arguments(), [b"\xff\0".to_vec()]);
        assert_eq!(path_style("/", &Query::default(), None), Err(BadRequest::Empty));
        assert_eq!(path_style("//get", &Query::default(), None), Err(BadRequest::Empty));
    }
}
