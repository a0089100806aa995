//! Answers as values, made into axum's.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use axum::http::{Response as HttpResponse, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;
use sluice::api::response::Response;

/// An answer.
pub(super) struct Answer(pub(super) Response);

impl Answer {
    /// 200 with a JSON body.
    pub(super) fn ok(body: &impl Serialize) -> Self {
        // Structs of texts and numbers always serialise.
        Self(Response::json(200, serde_json::to_vec(body).unwrap_or_default()))
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> HttpResponse<Body> {
        let Response { status, headers, body } = self.0;
        let mut response = HttpResponse::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
                response.headers_mut().append(name, value);
            }
        }
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        response
    }
}
