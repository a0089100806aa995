//! Refusals as `application/problem+json` (RFC 9457).

use serde::Serialize;

use super::code::{Code, Language};
use super::response::Response;
use crate::model::Millis;

/// Media type of a refusal.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// A refusal, with what the client may do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Why.
    pub code: Code,
    /// The code's own status, unless [`Problem::status`] says otherwise.
    pub status: u16,
    /// When the same request may pass; sent as whole seconds, rounded up.
    pub retry_after: Option<Millis>,
    /// The order that answers the request already (`already_bought`).
    pub order_id: Option<String>,
    /// The gate refused from memory alone: an earlier attempt at the same operation may have had another outcome.
    pub outcome_unknown: bool,
    /// The methods that are allowed here (`method_not_allowed`), as `Allow` lists them.
    pub allow: Option<String>,
    /// Which part of the request is meant, or what to do. Never a value that the client sent.
    pub detail: Option<&'static str>,
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_known: Option<bool>,
}

impl From<Code> for Problem {
    fn from(code: Code) -> Self {
        Self {
            code,
            status: code.status(),
            retry_after: None,
            order_id: None,
            outcome_unknown: false,
            allow: None,
            detail: None,
        }
    }
}

impl Problem {
    /// This, with the time after which the request may pass.
    #[must_use]
    pub fn retry_after(self, wait: Millis) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// This, under another status: what the origin says about a time-out is no gateway's 504.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// This, with the methods that are allowed; HEAD goes with GET.
    #[must_use]
    pub fn allow(self, methods: &[&str]) -> Self {
        let head = methods.contains(&"GET").then_some("HEAD");
        let all: Vec<&str> = methods.iter().copied().chain(head).collect();
        Self { allow: Some(all.join(", ")), ..self }
    }

    /// This, with what is wrong in particular.
    #[must_use]
    pub fn detail(self, detail: &'static str) -> Self {
        Self { detail: Some(detail), ..self }
    }

    /// This, with the order that the user already has.
    #[must_use]
    pub fn order(self, order_id: &str) -> Self {
        Self { order_id: Some(order_id.to_owned()), ..self }
    }

    /// The answer to send.
    #[must_use]
    pub fn response(&self, language: Language) -> Response {
        let body = Body {
            r#type: format!("urn:sluice:problem:{}", self.code.as_str()),
            title: self.code.title(language),
            status: self.status,
            code: self.code.as_str(),
            detail: self.detail,
            order_id: self.order_id.as_deref(),
            retry_after_ms: self.retry_after.map(|wait| wait.0),
            outcome_known: self.outcome_unknown.then_some(false),
        };
        let mut response = Response::new(self.status);
        response.header("content-type", CONTENT_TYPE);
        if let Some(wait) = self.retry_after {
            response.header("retry-after", wait.ceil_secs().max(1).to_string());
        }
        if let Some(methods) = &self.allow {
            response.header("allow", methods.clone());
        }
        if self.status == 401 {
            response.header("www-authenticate", "Bearer");
        }
        // A struct of texts and numbers always serialises.
        response.body = serde_json::to_vec(&body).unwrap_or_default();
        response
    }
}

/// The code of an answer that is a problem.
#[must_use]
pub fn code_of(response: &Response) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Coded {
        code: String,
    }
    let is_problem = response.get("content-type").is_some_and(|value| value.starts_with(CONTENT_TYPE));
    is_problem.then(|| serde_json::from_slice::<Coded>(&response.body).ok()).flatten().map(|body| body.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_redis_cell_56_a_wait_of_200_ms_is_one_second() {
        let response = Problem::from(Code::TooManyRequests).retry_after(Millis(200)).response(Language::English);
        assert_eq!(response.get("retry-after"), Some("1"));
    }

    #[test]
    fn a_problem_says_its_code_and_status_in_the_body() {
        let response = Problem::from(Code::SoldOut).response(Language::Chinese);
        let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(response.status, 409);
        assert_eq!((body["code"].as_str(), body["status"].as_u64()), (Some("sold_out"), Some(409)));
        assert_eq!(body["title"], "已售罄。");
    }
}
