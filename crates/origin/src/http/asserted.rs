//! A request that came through the edge: its assertion was verified against the request itself.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use sluice::api::code::{Code, Language};
use sluice::api::problem::Problem;
use sluice::assertion::{Assertion, HEADER, Operation};
use sluice::digest::body_hash;
use sluice::model::{Sku, User};

use super::{BODY_LIMIT, language};
use crate::app::App;

/// What the edge vouches for.
#[derive(Debug)]
pub(super) struct Asserted {
    pub(super) user: User,
    pub(super) sku: Option<String>,
    pub(super) op: Option<Operation>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) language: Language,
}

/// A request without a valid assertion, in the client's language.
pub(super) type Refused = (Problem, Language);

impl Asserted {
    /// Reads and verifies a request.
    pub(super) async fn read(app: &App, request: Request) -> Result<Self, Refused> {
        let (parts, body) = request.into_parts();
        let language = language(&parts.headers);
        let refused = |code: Code| (Problem::from(code), language);
        let body = read_body(&parts.headers, body).await.map_err(refused)?;
        let assertion = verify(app, &parts.headers).ok_or_else(|| refused(Code::AssertionInvalid))?;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let holds =
            assertion.mtd == parts.method.as_str() && assertion.pth == path && assertion.bdy == body_hash(&body);
        let user = assertion.sub.as_deref().and_then(|sub| User::parse(sub).ok());
        match user {
            Some(user) if holds => {
                let Assertion { sku, op, .. } = assertion;
                Ok(Self { user, sku, op, headers: parts.headers, body, language })
            }
            _ => Err(refused(Code::AssertionInvalid)),
        }
    }

    /// The sale in the path, which must be the one that was vouched for.
    pub(super) fn sku(&self, in_path: &str) -> Result<Sku, Code> {
        let sku = Sku::parse(in_path).map_err(|_| Code::InvalidSku)?;
        if self.sku.as_deref() == Some(sku.as_str()) { Ok(sku) } else { Err(Code::AssertionInvalid) }
    }
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Code> {
    let length = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > BODY_LIMIT as u64) {
        return Err(Code::BodyTooLarge);
    }
    axum::body::to_bytes(body, BODY_LIMIT).await.map_err(|_| Code::BodyTooLarge)
}

fn verify(app: &App, headers: &HeaderMap) -> Option<Assertion> {
    let mut all = headers.get_all(HEADER).iter();
    let token = all.next()?.to_str().ok()?;
    // Two of them would let whoever put the second one in choose.
    if all.next().is_some() {
        return None;
    }
    app.assertions.verify(token, app.now()).ok()
}
