//! The bodies of the order routes.

use serde::Serialize;
use serde_json::Value;

use super::code::Code;
use super::problem::Problem;
use super::response::Response;

/// The most units that one request may ask for. A sale's own `per_user` is checked by the origin.
pub const QUANTITY_MAX: u32 = 1000;

/// `POST /v1/sales/{sku}/orders`: `{"quantity": 1}`; the quantity is 1 when it is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRequest {
    /// Units wanted, 1 to [`QUANTITY_MAX`].
    pub quantity: u32,
}

impl OrderRequest {
    /// Reads a body, whose `content_type` must be JSON. Members that are not known are ignored.
    ///
    /// # Errors
    /// `unsupported_media_type`, `invalid_body` or `invalid_quantity`.
    pub fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Self, Code> {
        if !content_type.is_some_and(is_json) {
            return Err(Code::UnsupportedMediaType);
        }
        let members: serde_json::Map<String, Value> = serde_json::from_slice(body).map_err(|_| Code::InvalidBody)?;
        let quantity = match members.get("quantity") {
            None => 1,
            Some(value) => value.as_u64().ok_or(Code::InvalidQuantity)?,
        };
        match u32::try_from(quantity) {
            Ok(quantity) if (1..=QUANTITY_MAX).contains(&quantity) => Ok(Self { quantity }),
            _ => Err(Code::InvalidQuantity),
        }
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

#[derive(Serialize)]
struct Accepted<'a> {
    order_id: &'a str,
    status: &'static str,
}

/// The answer to an accepted order: 202, `Location`, `{"order_id", "status":"queued"}`.
///
/// With [`super::answer::ORDER_ID`] as the id it is the template that `deduct.lua` completes.
#[must_use]
pub fn accepted(order_id: &str) -> Response {
    // The placeholder is a control character, which JSON would escape; an order id needs no escaping.
    let body = serde_json::to_string(&Accepted { order_id: "*", status: "queued" }).unwrap_or_default();
    let mut response = Response::json(202, body.replacen('*', order_id, 1).into_bytes());
    response.header("location", format!("/v1/orders/{order_id}"));
    response
}

/// `already_bought`, with the order that the user has.
#[must_use]
pub fn already_bought(order_id: &str) -> Problem {
    Problem::from(Code::AlreadyBought).order(order_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Option<&str> = Some("application/json; charset=utf-8");

    #[test]
    fn a_quantity_is_a_whole_number_in_range() {
        assert_eq!(OrderRequest::parse(JSON, br#"{"quantity":3}"#), Ok(OrderRequest { quantity: 3 }));
        assert_eq!(OrderRequest::parse(JSON, b"{}"), Ok(OrderRequest { quantity: 1 }));
        for bad in ["0", "-1", "1.5", "1e9", "1001", "\"1\"", "null1", "true", "[1]", "99999999999999999999999"] {
            let body = format!("{{\"quantity\":{bad}}}");
            let want = if bad == "null1" { Code::InvalidBody } else { Code::InvalidQuantity };
            assert_eq!(OrderRequest::parse(JSON, body.as_bytes()), Err(want), "{body}");
        }
    }

    #[test]
    fn what_is_no_json_object_is_refused() {
        for bad in [
            "",
            "{",
            "[]",
            "1",
            "null",
            "\"x\"",
            "{\"quantity\":1",
            "{'quantity':1}",
            "{\"quantity\":1}x",
            "\u{feff}{}",
        ] {
            assert_eq!(OrderRequest::parse(JSON, bad.as_bytes()), Err(Code::InvalidBody), "{bad:?}");
        }
        assert_eq!(OrderRequest::parse(JSON, b"\xff"), Err(Code::InvalidBody));
    }

    #[test]
    fn the_content_type_must_be_json() {
        for bad in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonx")] {
            assert_eq!(OrderRequest::parse(bad, b"{}"), Err(Code::UnsupportedMediaType));
        }
    }

    #[test]
    fn the_accepted_template_completes_to_the_answer_itself() {
        let template = super::super::answer::pack(&accepted("\u{1}"), "");
        let completed = template.replace('\u{1}', "0-01JDZV6Q8W3M5K9T2R4X7Y1C0B");
        assert_eq!(completed, super::super::answer::pack(&accepted("0-01JDZV6Q8W3M5K9T2R4X7Y1C0B"), ""));
    }
}
