//! Paths, SKUs and methods that name nothing: refused, and no two readers can understand one differently.

use crate::http::Edge;
use crate::scene::Scene;

async fn raw(edge: &Edge, method: &str, path: &[u8]) -> (u16, String) {
    let mut request = [method.as_bytes(), b" ", path].concat();
    let lines = [format!("authorization: Bearer {}", edge.jwt("42")), "content-length: 0".to_owned()];
    let rest = edge.head("", &lines.each_ref().map(String::as_str));
    request.extend_from_slice(&rest);
    let answer = edge.raw(&request).await;
    (answer.status, answer.text())
}

#[tokio::test]
async fn a_strange_sku_or_path_is_refused_and_leaves_no_trace() {
    let scene = Scene::start().await;
    let long = "x".repeat(65);
    let skus = [
        ("a%2Fb", "invalid_path"),
        ("a%5Cb", "invalid_path"),
        ("a%00", "invalid_path"),
        ("%00", "invalid_path"),
        ("a%0A", "invalid_path"),
        ("a%7F", "invalid_path"),
        ("a%252Fb", "invalid_path"),
        ("a%", "invalid_path"),
        ("a%zz", "invalid_path"),
        ("%E6%98%B5", "invalid_sku"),
        ("%F0%9F%99%82", "invalid_sku"),
        ("%C3%28", "invalid_sku"),
        ("%64emo", "invalid_sku"),
        ("a%20b", "invalid_sku"),
        ("a:b", "invalid_sku"),
        ("a*", "invalid_sku"),
        ("{p1}", "invalid_sku"),
        ("a;b", "invalid_sku"),
        ("...", "invalid_sku"),
        ("", "invalid_sku"),
        (&long, "invalid_sku"),
    ];
    for (sku, code) in skus {
        for (method, rest) in [("GET", ""), ("POST", "/token"), ("POST", "/orders")] {
            let (status, text) = raw(&scene.edge, method, format!("/v1/sales/{sku}{rest}").as_bytes()).await;
            assert_eq!(status, 400, "{sku} {rest}: {text}");
            let braces = sku.starts_with('{') && text.contains("invalid_path");
            assert!(text.contains(&format!("\"{code}\"")) || braces, "{sku} {rest}: {text}");
        }
    }
    scene.is_untouched("skus");
}

#[tokio::test]
async fn dot_segments_never_lead_past_the_gate() {
    let scene = Scene::start().await;
    let paths = [
        "/v1/sales/../../admin",
        "/v1/sales/%2e%2e/%2E%2E/admin",
        "/v1/sales/.%2e/orders",
        "/v1/sales/demo/..%2forders",
        "/v1/sales/demo/%2e%2e%5cadmin",
        "/v1\\sales\\demo",
        "//admin",
        "//evil.example/v1/sales/demo",
        "/v1//sales/demo",
        "/v1/sales/demo/",
        "/__gate/config",
        "/metrics",
        "/admin",
    ];
    for path in paths {
        let (status, text) = raw(&scene.edge, "GET", path.as_bytes()).await;
        assert!(matches!(status, 400 | 404), "{path}: {status} {text}");
    }
    let (status, text) = raw(&scene.edge, "GET", b"/v1/sales/\xe9\xff").await;
    assert_eq!(status, 400, "{text}");
    let seen: Vec<_> = scene.origin.seen().into_iter().map(|seen| seen.target).collect();
    assert!(seen.is_empty(), "{seen:?}");
}

#[tokio::test]
async fn what_has_no_route_is_404_and_a_known_path_with_another_method_405() {
    let scene = Scene::start().await;
    let edge = &scene.edge;
    for path in ["/", "/v1", "/v1/sale", "/v1/sales/demo/orders/1", "/v1/orders", "/v1/orders/", "/V1/sales/demo"] {
        edge.get(path).user("42").send().await.is_refused(404, "not_found", path);
    }
    let wrong = [
        ("DELETE", "/v1/sales/demo"),
        ("POST", "/v1/sales/demo"),
        ("GET", "/v1/sales/demo/token"),
        ("GET", "/v1/sales/demo/orders"),
        ("PUT", "/v1/sales/demo/orders"),
        ("OPTIONS", "/v1/sales/demo/orders"),
        ("POST", "/v1/orders/0-1"),
        ("PROPFIND", "/v1/orders/0-1"),
        ("POST", "/healthz"),
    ];
    for (method, path) in wrong {
        let answer = edge.call(method, path).user("42").send().await;
        answer.is_refused(405, "method_not_allowed", &format!("{method} {path}"));
    }
    scene.is_untouched("routes");
}

#[tokio::test]
async fn a_title_is_in_the_language_that_is_asked_for() {
    let scene = Scene::start().await;
    let call = scene.edge.get("/nowhere");
    let english = call.clone().send().await.json();
    let chinese = call.header("accept-language", "zh-CN,zh;q=0.9").send().await.json();
    assert_eq!(english["title"], "There is nothing here.");
    assert_eq!(chinese["title"], "页面不存在。");
    assert_eq!(english["code"], chinese["code"]);
}
