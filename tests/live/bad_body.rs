//! Bodies that are no order: each is refused with its code, before anything is stored or forwarded.

use crate::http::{Call, Edge, ONE};
use crate::scene::Scene;

const CAP: usize = 65_536;

/// An order by a user whose bucket is not the point.
fn order(edge: &Edge) -> Call {
    let token = edge.token("42", "demo");
    edge.order("42", "demo", &token)
}

#[tokio::test]
async fn a_body_that_is_no_order_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let bodies: &[&[u8]] = &[
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"quantity\"",
        b"{'quantity':1}",
        b"{\"quantity\":1}}",
        b"{\"quantity\":01}",
        b"{\"quantity\":NaN}",
        b"quantity=1",
        b"\xff\xfe{}",
        b"{\"quantity\":1\0}",
    ];
    for body in bodies {
        let about = String::from_utf8_lossy(body);
        let call = order(&scene.edge).body(body);
        call.send().await.is_refused(400, "invalid_body", &about);
    }
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    order(&scene.edge).json(&deep).send().await.is_refused(400, "invalid_body", "deeply nested");
    let endless = format!("{{\"quantity\":{}}}", "9".repeat(400));
    order(&scene.edge).json(&endless).send().await.is_refused(400, "invalid_body", "a number beyond any double");
    scene.is_untouched("bodies");
}

#[tokio::test]
async fn a_quantity_that_is_no_whole_number_in_range_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let quantities = [
        "0",
        "-1",
        "-0",
        "1.5",
        "1.0",
        "1e3",
        "1001",
        "4294967297",
        "18446744073709551616",
        "\"1\"",
        "true",
        "null",
        "[1]",
        "{}",
    ];
    for quantity in quantities {
        let body = format!("{{\"quantity\":{quantity}}}");
        let answer = order(&scene.edge).json(&body).send().await;
        answer.is_refused(400, "invalid_quantity", &body);
    }
    scene.is_untouched("quantities");
}

#[tokio::test]
async fn a_body_of_another_type_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "multipart/form-data"]
    {
        let answer = order(&scene.edge).header("content-type", kind).send().await;
        answer.is_refused(415, "unsupported_media_type", kind);
    }
    let answer = order(&scene.edge).without("content-type").send().await;
    answer.is_refused(415, "unsupported_media_type", "no type");
    scene.is_untouched("types");
    let answer = order(&scene.edge).header("content-type", "Application/JSON; charset=utf-8").send().await;
    answer.is(202);
}

#[tokio::test]
async fn a_body_above_the_cap_is_refused_whether_its_length_is_told_or_not() {
    let scene = Scene::start().await;
    let padded = |length: usize| format!("{ONE}{}", " ".repeat(length - ONE.len()));
    let answer = order(&scene.edge).json(&padded(CAP + 1)).send().await;
    answer.is_refused(413, "body_too_large", "with Content-Length");

    let edge = &scene.edge;
    let (jwt, token) = (edge.jwt("42"), edge.token("42", "demo"));
    let lines = [
        format!("authorization: Bearer {jwt}"),
        format!("sluice-order-token: {token}"),
        "cf-connecting-ip: 203.0.113.1".to_owned(),
        "content-type: application/json".to_owned(),
        "transfer-encoding: chunked".to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let chunked = |body: &str| {
        let mut request = edge.head("POST /v1/sales/demo/orders", &lines);
        for chunk in body.as_bytes().chunks(5_000) {
            request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            request.extend_from_slice(chunk);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        request
    };
    let answer = edge.raw(&chunked(&padded(CAP + 1))).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(answer.text().contains("\"body_too_large\""), "{}", answer.text());
    scene.is_untouched("too large");

    let answer = edge.raw(&chunked(&padded(CAP))).await;
    assert_eq!(answer.status, 202, "a body at the cap is read whole: {}", answer.text());
    assert_eq!(scene.origin.only().body.len(), CAP);
}

#[tokio::test]
async fn a_body_above_the_cap_is_refused_on_every_route() {
    let scene = Scene::start().await;
    let large = vec![b'x'; CAP + 1];
    let answer = scene.edge.issue("42", "demo").body(&large).send().await;
    answer.is_refused(413, "body_too_large", "token");
    let answer = scene.edge.get("/v1/sales/demo/details").body(&large).send().await;
    answer.is_refused(413, "body_too_large", "sale");
    scene.is_untouched("too large");
}
