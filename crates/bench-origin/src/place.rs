//! `POST /v1/sales/{sku}/orders`, with or without an assertion.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response as HttpResponse, StatusCode, Uri};
use axum::response::IntoResponse;
use sluice::api::code::{Code, Language};
use sluice::api::order::{OrderRequest, accepted, already_bought};
use sluice::api::problem::Problem;
use sluice::api::response::Response;
use sluice::api::{COMPLETED, ORDER_TOKEN, OUTCOME, SOLD_OUT};
use sluice::assertion::{Assertion, HEADER, Operation};
use sluice::digest::{Tag, body_hash};
use sluice::model::{Millis, OrderId, Sku, User};
use sluice::script::deduct::{Claim, Deduct};

use crate::clock;
use crate::desk::Desk;
use crate::orders::{self, Taken};

/// How long an operation is remembered.
const RETENTION: Millis = Millis(600_000);

/// A response made from the shared value.
pub(crate) struct Answer(Response);

impl IntoResponse for Answer {
    fn into_response(self) -> HttpResponse<Body> {
        let mut response = HttpResponse::new(Body::from(self.0.body));
        *response.status_mut() = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.0.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

/// Who orders, and the operation where there is one.
struct Caller {
    user: User,
    op: Option<Operation>,
}

pub(crate) async fn place(
    State(desk): State<Arc<Desk>>,
    Path(sku): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    desk.requests.fetch_add(1, Ordering::Relaxed);
    let refuse = |code: Code| Answer(Problem::from(code).response(Language::English));
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let caller = match text(HEADER) {
        Some(assertion) => asserted(&desk, assertion, &method, &uri, &body),
        None => unprotected(&desk, text("authorization")),
    };
    let Some(Caller { user, op }) = caller else { return refuse(Code::AssertionInvalid) };
    let (Ok(sku), Ok(order)) = (Sku::parse(&sku), OrderRequest::parse(text("content-type"), &body)) else {
        return refuse(Code::InvalidBody);
    };
    let Some(quantity) = NonZeroU32::new(order.quantity) else { return refuse(Code::InvalidQuantity) };
    let id = format!("0-{:026}", desk.requests.load(Ordering::Relaxed));
    let Ok(id) = OrderId::parse(&id) else { return refuse(Code::SaleUnavailable) };
    if !desk.keeps_orders.load(Ordering::Relaxed) {
        return answer(&Taken { code: 0, order: id.to_string(), now: 0, claim_written: true, stock: 1 });
    }
    // Without an assertion nothing names the operation but the token.
    let own = Tag::of(&[text(ORDER_TOKEN).unwrap_or_default().as_bytes()]);
    let claim = op.as_ref().map(|op| Claim { key: &op.claim, owner: &op.owner });
    let call = Deduct {
        order: &id,
        op_id: op.as_ref().map_or(own.as_str(), |op| &op.id),
        sku: &sku,
        user: &user,
        quantity,
        not_after: Millis(op.as_ref().map_or(u64::MAX >> 12, |op| op.not_after)),
        known_seq: 0,
        retention: RETENTION,
        claim,
    };
    match orders::deduct(&desk, &call).await {
        Ok(taken) => answer(&taken),
        Err(_) => refuse(Code::SaleUnavailable),
    }
}

fn asserted(desk: &Desk, assertion: &str, method: &Method, uri: &Uri, body: &[u8]) -> Option<Caller> {
    let Assertion { sub, mtd, pth, bdy, op, .. } = desk.assertions.verify(assertion, clock::now()).ok()?;
    let path = uri.path_and_query()?.as_str();
    let holds = mtd == method.as_str() && pth == path && bdy == body_hash(body);
    let user = User::parse(&sub?).ok()?;
    holds.then_some(Caller { user, op })
}

fn unprotected(desk: &Desk, authorization: Option<&str>) -> Option<Caller> {
    let token = authorization?.strip_prefix("Bearer ")?;
    let user = desk.users.by_secret(&desk.user_keys, token, clock::now()).ok()?;
    Some(Caller { user, op: None })
}

/// The real origin's answers to these outcomes.
fn answer(taken: &Taken) -> Answer {
    let problem = |problem: Problem| problem.response(Language::English);
    let (mut response, mark) = match taken.code {
        0 | 3 => (accepted(&taken.order), "final"),
        1 => (problem(Code::SoldOut.into()), "passing"),
        2 => (problem(already_bought(&taken.order)), "final"),
        _ => return Answer(problem(Code::SaleUnavailable.into())),
    };
    response.header(OUTCOME, mark);
    if taken.claim_written {
        response.header(COMPLETED, "1");
    }
    if taken.code == 1 && taken.stock == 0 {
        response.header(SOLD_OUT, taken.now.to_string());
    }
    Answer(response)
}
