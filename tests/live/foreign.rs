//! A stand-in for an HTTP service beside the edge, that answers as a test wants and keeps what it was sent.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub target: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A service on a free port, until it is dropped.
pub struct Foreign {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Foreign {
    /// Starts a service that answers by `answer`.
    pub async fn start<F, R>(answer: F) -> Self
    where
        F: Fn(Seen) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<Body>> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let kept = Arc::clone(&seen);
        let router = Router::new().fallback(move |request: Request| {
            let (kept, answer) = (Arc::clone(&kept), answer.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let (method, target) = (head.method.to_string(), head.uri.to_string());
                let request = Seen { method, target, headers: head.headers, body };
                kept.lock().unwrap().push(request.clone());
                Ok::<_, Infallible>(answer(request).await)
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, task }
    }

    /// Starts a service that accepts every order.
    pub async fn accepting() -> Self {
        Self::start(async |_| answer(202, &[("content-type", "application/json")], r#"{"order_id":"0-1"}"#)).await
    }

    /// Stands for a service that a test runs by itself.
    pub async fn elsewhere(url: String) -> Self {
        let mut service = Self::accepting().await;
        service.url = url;
        service
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// All that it was sent so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The one request that it was sent; forgets it.
    #[track_caller]
    pub fn only(&self) -> Seen {
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An answer to give.
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}
