//! The origin's answer as the client gets it: whole and unchanged, without what is between origin and gate only.

use axum::body::Body;
use axum::http::Response;
use futures_util::stream;

use crate::foreign::{Foreign, Seen, answer};
use crate::http::Answer;
use crate::scene::Scene;

/// "compressed" as gzip.
const GZIP: &[u8] =
    &[31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 75, 206, 207, 45, 40, 74, 45, 46, 78, 77, 1, 0, 30, 75, 86, 151, 10, 0, 0, 0];
/// Sizes around what the gate keeps, and one far above.
const SIZES: [usize; 5] = [1, 65_535, 65_536, 65_537, 1_048_576];

/// Bytes of which none is like its neighbours.
fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 7 + i / 251).to_le_bytes()[0]).collect()
}

/// Answers as the SKU of the path says.
async fn by_sku(request: Seen) -> Response<Body> {
    let sku = request.target.strip_prefix("/v1/sales/").and_then(|rest| rest.strip_suffix("/details")).unwrap();
    let (kind, number) = sku.split_once('-').unwrap_or((sku, "0"));
    let number: usize = number.parse().unwrap();
    match kind {
        "status" => {
            let headers = [("location", "https://elsewhere.example/a?b=c#d"), ("etag", "\"e\"")];
            let bare = matches!(number, 204 | 205 | 304);
            answer(u16::try_from(number).unwrap(), &headers, if bare { "" } else { "a body" })
        }
        "cookies" => {
            let cookies = [("set-cookie", "a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT"), ("set-cookie", "b=2")];
            answer(200, &cookies, "")
        }
        "whole" => answer(200, &[], bytes(number)),
        "chunked" => {
            let chunks: Vec<Result<Vec<u8>, String>> = bytes(number).chunks(10_000).map(|c| Ok(c.to_vec())).collect();
            answer(200, &[], Body::from_stream(stream::iter(chunks)))
        }
        "gzip" => answer(200, &[("content-encoding", "gzip"), ("content-type", "text/plain")], GZIP),
        _ => {
            let headers = [
                ("sluice-outcome", "final"),
                ("sluice-completed", "1"),
                ("sluice-anything", "x"),
                ("cache-control", "public, max-age=600"),
                ("x-request-id", "of the origin"),
                ("connection", "x-hop"),
                ("x-hop", "x"),
                ("keep-alive", "timeout=5"),
                ("proxy-authenticate", "Basic"),
                ("x-plain", "stays"),
                ("content-type", "text/html; charset=gb18030"),
            ];
            answer(200, &headers, "x")
        }
    }
}

async fn scene() -> Scene {
    Scene::of(Foreign::start(by_sku).await).await
}

async fn get(scene: &Scene, sku: &str) -> Answer {
    scene.edge.get(&format!("/v1/sales/{sku}/details")).send().await
}

#[tokio::test]
async fn r_workers_rs_pr131_every_cookie_is_a_line_of_its_own() {
    let scene = scene().await;
    let answer = get(&scene, "cookies").await;
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(cookies, ["a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"]);
}

#[tokio::test]
async fn r_agents_156_a_redirect_is_passed_on_and_never_followed() {
    let scene = scene().await;
    for status in [301, 302, 303, 307, 308] {
        let answer = get(&scene, &format!("status-{status}")).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("location"), Some("https://elsewhere.example/a?b=c#d"));
        assert_eq!(answer.text(), "a body");
        scene.origin.only();
    }
}

#[tokio::test]
async fn r_trusted_server_643_a_post_that_is_redirected_is_sent_once_and_its_body_to_nobody_else() {
    let elsewhere = Foreign::accepting().await;
    let location = format!("{}/v1/taken", elsewhere.url());
    for status in [302, 307, 308] {
        let to = location.clone();
        let origin = Foreign::start(move |_| {
            let to = to.clone();
            async move { answer(status, &[("location", &to)], "") }
        });
        let scene = Scene::of(origin.await).await;
        let redirected = scene.edge.order("42", "demo", &scene.edge.token("42", "demo")).send().await;
        assert_eq!((redirected.status, redirected.header("location")), (status, Some(location.as_str())));
        assert_eq!(scene.origin.only().body, crate::http::ONE.as_bytes());
        assert!(elsewhere.seen().is_empty(), "{status} was followed");
    }
}

#[tokio::test]
async fn r_miniflare_165_an_answer_without_a_body_has_none() {
    let scene = scene().await;
    for status in [204, 205, 304] {
        let answer = get(&scene, &format!("status-{status}")).await;
        assert_eq!((answer.status, answer.body.len()), (status, 0));
        assert_eq!(answer.header("etag"), Some("\"e\""));
    }
    for sku in ["status-200", "status-404", "status-302", "whole-1048576"] {
        let head = scene.edge.head(&format!("HEAD /v1/sales/{sku}/details"), &[]);
        let answer = scene.edge.raw(&head).await;
        assert!(answer.status < 500, "{sku}: {}", answer.status);
        assert!(answer.body.is_empty(), "{sku}: {}", answer.text());
    }
    assert!(scene.origin.seen().iter().rev().take(4).all(|seen| seen.method == "HEAD"));
}

#[tokio::test]
async fn statuses_and_bodies_of_the_origin_are_the_clients() {
    let scene = scene().await;
    for status in [200, 201, 203, 400, 401, 403, 404, 409, 410, 418, 422, 429, 451, 500, 501, 502, 503, 504] {
        let answer = get(&scene, &format!("status-{status}")).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, "a body"));
    }
}

#[tokio::test]
async fn a_body_of_any_size_arrives_intact() {
    let scene = scene().await;
    for size in SIZES {
        for kind in ["whole", "chunked"] {
            let answer = get(&scene, &format!("{kind}-{size}")).await;
            assert!(answer.status == 200 && answer.body == bytes(size), "{kind} {size}: {}", answer.body.len());
        }
    }
    assert!(get(&scene, "whole-0").await.body.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_compressed_unasked_is_labelled_so() {
    let scene = scene().await;
    let answer = get(&scene, "gzip").await;
    assert_eq!(scene.origin.only().header("accept-encoding"), Some("identity"), "it is not asked for");
    assert_eq!((answer.status, answer.header("content-encoding")), (200, Some("gzip")));
    assert_eq!(answer.body[..2], GZIP[..2]);
}

#[tokio::test]
async fn marks_and_headers_of_one_hop_end_at_the_gate() {
    let scene = scene().await;
    let answer = get(&scene, "marks").await;
    answer.is(200);
    for name in answer.headers.keys() {
        assert!(!name.as_str().starts_with("sluice-"), "{name}");
    }
    for name in ["x-hop", "keep-alive", "proxy-authenticate", "connection"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    assert_eq!(answer.header("x-plain"), Some("stays"));
    assert_eq!(answer.header("content-type"), Some("text/html; charset=gb18030"));
    let all = |name: &str| answer.headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(all("cache-control"), ["private, no-store"]);
    let ids = all("x-request-id");
    assert_eq!(ids.len(), 1, "one id: {ids:?}");
    assert_eq!(scene.origin.only().header("x-request-id"), Some(ids[0]), "the one that the origin was told");
    assert_ne!(get(&scene, "marks").await.header("x-request-id"), Some(ids[0]));
}
