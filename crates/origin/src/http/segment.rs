//! One segment of the path, percent-decoded.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use sluice::api::code::Code;

use super::answer::Answer;
use super::problem;

/// The variable part of a path. Where it is no UTF-8, the answer is a problem as everywhere else.
pub(super) struct Segment(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Answer;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Answer> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(Self(text)),
            Err(_) => Err(problem(Code::InvalidPath, &parts.headers)),
        }
    }
}
