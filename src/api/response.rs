//! An HTTP answer as a value.

use std::borrow::Cow;

/// Status, headers and body, before anything is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case; a name may stand more than once.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer without headers and body.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// An answer whose body is already JSON.
    #[must_use]
    pub fn json(status: u16, body: Vec<u8>) -> Self {
        let mut response = Self { status, headers: Vec::new(), body };
        response.header("content-type", "application/json");
        response
    }

    /// Adds a header; those of the same name stay.
    pub fn header(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.headers.push((name.into(), value.into()));
    }

    /// The first header of that name (lower case).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}
