//! Routes, headers and statuses: the only part that knows HTTP.

use std::future::{Future, IntoFuture};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::debug;

use crate::auth::{WRONG_TOKEN, bearer};
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::execute::{Answer, Executor};
use crate::reply::Encoding;
use crate::request::{self, Query, Request};

mod body;

const ENCODING: HeaderName = HeaderName::from_static("upstash-encoding");
const RESPONSE_FORMAT: HeaderName = HeaderName::from_static("upstash-response-format");
const SYNC_TOKEN: HeaderName = HeaderName::from_static("upstash-sync-token");

/// How long requests under way may take once the bridge is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// A bridge that is configured and not yet running.
#[derive(Debug)]
pub struct Bridge {
    config: Config,
}

/// Takes a configuration; nothing is opened before [`Bridge::run`].
pub fn build(config: Config) -> Bridge {
    Bridge { config }
}

struct Shared {
    config: Config,
    executor: Executor,
    sync: SyncToken,
}

impl Bridge {
    /// Serves until `shutdown` is ready, then lets requests under way finish. Redis need not be up.
    pub async fn run(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let config = self.config;
        let (sender, state) = watch::channel(backend::State::Connecting);
        let keeper = tokio::spawn(backend::keep_connected(config.clone(), sender));
        let executor = Executor::new(Backend::new(state, config.connect_timeout, config.command_timeout));
        let shared = Arc::new(Shared { config, executor, sync: SyncToken::new() });
        let served = serve(listener, router(shared), shutdown).await;
        keeper.abort();
        served
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new().route("/healthz", get(health)).fallback(handle).with_state(shared)
}

async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (told, mut stopping) = watch::channel(false);
    let shutdown = async move {
        shutdown.await;
        told.send_replace(true);
    };
    let listener = listener.tap_io(|socket| {
        // Without it only latency suffers.
        let _ = socket.set_nodelay(true);
    });
    let server = axum::serve(listener, router).with_graceful_shutdown(shutdown).into_future();
    let overdue = async move {
        let _ = stopping.wait_for(|stop| *stop).await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = server => served,
        () = overdue => Ok(()),
    }
}

async fn health(State(shared): State<Arc<Shared>>) -> Response {
    let redis = if shared.executor.redis_is_up() { "up" } else { "down" };
    json(StatusCode::OK, format!("{{\"status\":\"ok\",\"redis\":\"{redis}\"}}").into_bytes())
}

async fn handle(State(shared): State<Arc<Shared>>, request: HttpRequest) -> Response {
    let method = request.method().clone();
    let answer = answer(&shared, request).await.unwrap_or_else(|answer| answer);
    debug!(%method, status = answer.status, "answered");
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, answer.body);
    let headers = response.headers_mut();
    headers.insert(SYNC_TOKEN, shared.sync.next());
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT"));
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

async fn answer(shared: &Shared, request: HttpRequest) -> Result<Answer, Answer> {
    let (parts, body) = request.into_parts();
    let has_body = has_body(&parts)?;
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    authorize(shared, &parts.headers, &query)?;
    let encoding = encoding(&parts.headers)?;
    let body = match has_body {
        true => Some(body::read(body, shared.config.body_limit).await?),
        false => None,
    };
    let request = parse(parts.uri.path(), &query, body.as_deref())?;
    Ok(shared.executor.execute(request, encoding).await)
}

/// Whether the method carries a body, and may be used on this path at all.
fn has_body(parts: &Parts) -> Result<bool, Answer> {
    let listed = matches!(parts.uri.path(), "/pipeline" | "/multi-exec");
    match parts.method {
        Method::POST | Method::PUT => Ok(true),
        Method::GET | Method::HEAD if !listed => Ok(false),
        _ => Err(Answer::error(405, "ERR method not allowed")),
    }
}

fn authorize(shared: &Shared, headers: &HeaderMap, query: &Query) -> Result<(), Answer> {
    let offered = match headers.get(AUTHORIZATION) {
        Some(header) => bearer(header.as_bytes()),
        None => query.token.as_deref(),
    };
    match offered {
        Some(token) if shared.config.token.is(token) => Ok(()),
        _ => Err(Answer::error(401, WRONG_TOKEN)),
    }
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, Answer> {
    if headers.contains_key(RESPONSE_FORMAT) {
        return Err(Answer::error(400, "ERR Upstash-Response-Format is not supported by this bridge"));
    }
    match headers.get(ENCODING) {
        None => Ok(Encoding::Plain),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"base64") => Ok(Encoding::Base64),
        Some(_) => Err(Answer::error(400, "ERR the only Upstash-Encoding is base64")),
    }
}

fn parse(path: &str, query: &Query, body: Option<&[u8]>) -> Result<Request, request::BadRequest> {
    match (path, body) {
        ("/", Some(body)) => request::single(body).map(Request::Single),
        ("/pipeline", Some(body)) => request::list(body).map(Request::Pipeline),
        ("/multi-exec", Some(body)) => request::list(body).map(Request::Transaction),
        (path, body) => request::path_style(path, query, body).map(Request::Single),
    }
}

/// A value that differs in every reply. One connection to one Redis reads its own writes without it; clients
/// expect the header.
struct SyncToken {
    process: u64,
    replies: AtomicU64,
}

impl SyncToken {
    fn new() -> Self {
        Self { process: RandomState::new().hash_one("sync token"), replies: AtomicU64::new(0) }
    }

    fn next(&self) -> HeaderValue {
        let reply = self.replies.fetch_add(1, Ordering::Relaxed);
        HeaderValue::from_str(&format!("{:016x}-{reply:x}", self.process))
            .unwrap_or_else(|_| HeaderValue::from_static("0"))
    }
}
