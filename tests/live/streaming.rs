//! Bodies that are sent on as they come: the first part arrives before the last is there, both ways, and limits hold.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use futures_util::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::foreign::{Foreign, answer};
use crate::scene::{Scene, builder};

/// Longer than anything here takes, unless it hangs.
const LONG: Duration = Duration::from_secs(10);
const LIMIT: usize = 100_000;

/// A gate with a route for uploads.
async fn scene(origin: Foreign) -> Scene {
    let route = "[[route]]\nname = \"upload\"\nmethod = \"POST\"\npath = \"/v1/reviews\"\nuser = \"optional\"\n";
    let more = format!("{route}limits = [\"read\"]\nbody_limit = {LIMIT}\norigin_deadline_ms = 1000\n");
    let toml = format!("{}\n{more}", include_str!("../../gate.toml"));
    Scene::built(builder().gate_toml(&toml).unwrap(), origin).await
}

/// What an origin tells of a body that is sent to it.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// The length that the head declares.
    Length(Option<String>),
    Part(usize),
    End,
    BrokenOff,
}

/// An origin that tells of each part of a body as it comes, and answers at its end.
async fn listening() -> (String, UnboundedReceiver<Told>) {
    let (tell, told) = unbounded_channel();
    let router = Router::new().fallback(move |request: Request| listen(request, tell.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, told)
}

async fn listen(request: Request, tell: UnboundedSender<Told>) -> Result<Response<Body>, Infallible> {
    let length = request.headers().get("content-length").map(|value| value.to_str().unwrap().to_owned());
    tell.send(Told::Length(length)).unwrap();
    let mut body = request.into_body().into_data_stream();
    while let Some(part) = body.next().await {
        let part = part.map(|part| Told::Part(part.len()));
        let is_over = part.is_err();
        tell.send(part.unwrap_or(Told::BrokenOff)).unwrap();
        if is_over {
            return Ok(answer(500, &[], ""));
        }
    }
    tell.send(Told::End).unwrap();
    Ok(answer(201, &[], "read"))
}

/// An upload on a connection of its own.
struct Upload(TcpStream);

impl Upload {
    async fn begin(edge: &str, length: &str) -> Self {
        let mut stream = TcpStream::connect(edge.strip_prefix("http://").unwrap()).await.unwrap();
        let head = format!(
            "POST /v1/reviews HTTP/1.1\r\nhost: e\r\nconnection: close\r\ncf-connecting-ip: 1.2.3.4\r\n{length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self(stream)
    }

    async fn chunk(&mut self, size: usize) {
        let chunk = format!("{size:x}\r\n{}\r\n", "x".repeat(size));
        self.0.write_all(chunk.as_bytes()).await.unwrap();
    }

    async fn answer(mut self) -> String {
        let mut text = Vec::new();
        let _ = timeout(LONG, self.0.read_to_end(&mut text)).await.expect("an end");
        String::from_utf8_lossy(&text).into_owned()
    }
}

const CHUNKED: &str = "transfer-encoding: chunked";

#[tokio::test]
async fn an_answer_begins_before_its_end_is_there() {
    let (go, gone) = unbounded_channel::<Bytes>();
    let parts = std::sync::Arc::new(std::sync::Mutex::new(Some(gone)));
    let origin = Foreign::start(move |_| {
        let parts = parts.lock().unwrap().take().unwrap();
        async move {
            let parts = stream::unfold(parts, |mut parts| async { parts.recv().await.map(|part| (part, parts)) });
            answer(200, &[("x-kept", "y")], Body::from_stream(parts.map(Ok::<_, Infallible>)))
        }
    });
    let scene = Scene::of(origin.await).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = http.get(format!("{}/v1/orders/0-01JDZV6Q8W3M5K9T2R4X7Y1C0B", scene.stack.edge_url()));
    go.send("first".into()).unwrap();
    let call = call.bearer_auth(scene.edge.jwt("42")).header("cf-connecting-ip", "1.2.3.4");
    let mut answer = timeout(LONG, call.send()).await.expect("a head").unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["x-kept"].to_str().unwrap()), (200, "y"));
    let first = timeout(LONG, answer.chunk()).await.expect("the first part before the last is sent").unwrap();
    assert_eq!(first.as_deref(), Some(&b"first"[..]));
    go.send("last".into()).unwrap();
    drop(go);
    assert_eq!(timeout(LONG, answer.bytes()).await.expect("the rest").unwrap(), "last");
}

#[tokio::test]
async fn a_body_reaches_the_origin_before_its_end_is_sent() {
    let (url, mut told) = listening().await;
    let scene = over(url).await;
    let mut upload = Upload::begin(&scene.stack.edge_url(), CHUNKED).await;
    upload.chunk(7).await;
    let mut next = async || timeout(LONG, told.recv()).await.expect("the first part before the last is sent").unwrap();
    assert_eq!([next().await, next().await], [Told::Length(None), Told::Part(7)]);
    upload.chunk(5).await;
    assert_eq!(next().await, Told::Part(5));
    upload.0.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(next().await, Told::End);
    let answer = upload.answer().await;
    assert!(answer.starts_with("HTTP/1.1 201") && answer.contains("read"), "{answer}");
}

#[tokio::test]
async fn a_length_that_is_told_reaches_the_origin_and_one_above_the_limit_does_not() {
    let (url, mut told) = listening().await;
    let scene = over(url).await;
    let post = |size: usize| scene.edge.call("POST", "/v1/reviews").body(&vec![b'x'; size]);
    post(LIMIT).send().await.is(201);
    assert_eq!(told.recv().await, Some(Told::Length(Some(LIMIT.to_string()))));
    let mut size = 0;
    while let Some(Told::Part(part)) = told.recv().await {
        size += part;
    }
    assert_eq!(size, LIMIT);
    post(LIMIT + 1).send().await.is_refused(413, "body_too_large", "declared");
    assert!(told.try_recv().is_err(), "the origin sees nothing of it");
}

#[tokio::test]
async fn a_body_of_no_told_length_is_broken_off_above_the_limit() {
    let (url, mut told) = listening().await;
    let scene = over(url).await;
    let mut upload = Upload::begin(&scene.stack.edge_url(), CHUNKED).await;
    for _ in 0..LIMIT / 10_000 {
        upload.chunk(10_000).await;
    }
    upload.chunk(1).await;
    let answer = upload.answer().await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
    let mut last = None;
    while let Ok(Some(next)) = timeout(LONG, told.recv()).await {
        last = Some(next);
        if last == Some(Told::BrokenOff) {
            break;
        }
        assert_ne!(last, Some(Told::End), "the origin never takes it for a whole one");
    }
    assert_eq!(last, Some(Told::BrokenOff));
}

#[tokio::test]
async fn an_origin_that_does_not_answer_within_the_routes_deadline_is_504() {
    let origin = Foreign::start(async |_| {
        tokio::time::sleep(LONG).await;
        answer(200, &[], "late")
    });
    let scene = scene(origin.await).await;
    let begun = xtask::clock::now();
    let refused = scene.edge.call("POST", "/v1/reviews").body(b"x").send().await;
    refused.is_refused(504, "origin_timeout", "late");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

/// The gate with the route for uploads, and the origin at `url`.
async fn over(url: String) -> Scene {
    let origin = Foreign::elsewhere(url).await;
    scene(origin).await
}
