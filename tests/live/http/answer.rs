//! An answer, and what every refusal must look like.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// An answer, read whole.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads what came over a connection. A chunked body stays as it is: it holds the texts all the same.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap());
        }
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {} {}", self.status, self.text()))
    }

    /// The code of a refusal; empty for any other answer.
    pub fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Seconds to wait, as the answer says.
    #[track_caller]
    pub fn retry_after(&self) -> u64 {
        let value = self.header("retry-after").unwrap_or_else(|| panic!("no Retry-After: {self:?}"));
        let seconds = value.parse().unwrap();
        assert!(seconds > 0 && value == u64::to_string(&seconds), "{value}");
        seconds
    }

    /// Checks that this is a problem with this status and code, dressed as every answer of the gate is.
    #[track_caller]
    pub fn is_refused(&self, status: u16, code: &str, about: &str) {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{about}: {}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{about}");
        assert_eq!(self.header("cache-control"), Some("private, no-store"), "{about}");
        assert!(self.header("x-request-id").is_some_and(|id| id.len() == 22), "{about}: {self:?}");
        let body = self.json();
        assert_eq!(body["status"], status, "{about}");
        assert_eq!(body["type"], format!("urn:sluice:problem:{code}"), "{about}");
        assert!(body["title"].as_str().is_some_and(|title| !title.is_empty()), "{about}");
    }

    #[track_caller]
    pub fn is(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.text());
    }
}
