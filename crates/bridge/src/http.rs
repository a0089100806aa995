//! Routes, headers and statuses: the only part that knows HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::debug;

use crate::auth::{self, WRONG_TOKEN, bearer};
use crate::backend::{Backend, Times};
use crate::config::Config;
use crate::execute::{Answer, Executor, Session};
use crate::metrics::{self, Counted, Metrics};
use crate::reply::Format;
use crate::request::{self, Query, Request};

mod body;
mod events;
mod opened;
mod serve;
mod sync;

use sync::SyncToken;

const ENCODING: HeaderName = HeaderName::from_static("upstash-encoding");
const RESPONSE_FORMAT: HeaderName = HeaderName::from_static("upstash-response-format");
const SYNC_TOKEN: HeaderName = HeaderName::from_static("upstash-sync-token");

/// What is asked of a bridge that has as much to do as it may.
const OVERLOADED: &str = "ERR the bridge has as many requests under way as it may; nothing was sent";

/// A bridge that is configured and not yet running.
#[derive(Debug)]
pub struct Bridge {
    config: Config,
}

/// Takes a configuration; nothing is opened before [`Bridge::run`].
pub fn build(config: Config) -> Bridge {
    Bridge { config }
}

/// What all requests share.
struct Shared {
    config: Config,
    databases: Vec<(String, Executor)>,
    /// One for each token, in the order of the configuration, with the number of its database.
    sessions: Vec<(usize, Session)>,
    room: Semaphore,
    streams: Arc<Semaphore>,
    sync: SyncToken,
    metrics: Metrics,
    stopping: tokio::sync::watch::Receiver<bool>,
}

impl Bridge {
    /// Serves until `shutdown` is ready, then lets requests under way finish. Redis need not be up.
    pub async fn run(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let (stop, stopping) = tokio::sync::watch::channel(false);
        let shared = Arc::new(Shared::new(self.config, stopping));
        let router = Router::new()
            .route("/healthz", get(health))
            .route("/metrics", get(show_metrics))
            .fallback(handle)
            .with_state(Arc::clone(&shared));
        serve::serve(listener, router, &shared, stop, shutdown).await
    }
}

impl Shared {
    fn new(config: Config, stopping: tokio::sync::watch::Receiver<bool>) -> Self {
        let times = Times { connect: config.connect_timeout, command: config.command_timeout };
        let start = |database: &crate::config::Database| {
            let backend = Backend::start(database.target.clone(), times);
            (database.name.clone(), Executor::new(backend, config.check_keys))
        };
        let grants = config.databases.iter().enumerate().flat_map(|(at, db)| db.grants.iter().map(move |g| (at, g)));
        let sessions = (1..)
            .zip(grants)
            .map(|(number, (at, grant))| (at, Session { access: Arc::clone(&grant.access), number }))
            .collect();
        Self {
            databases: config.databases.iter().map(start).collect(),
            sessions,
            room: Semaphore::new(config.requests_limit),
            streams: Arc::new(Semaphore::new(config.streams_limit)),
            sync: SyncToken::new(),
            metrics: Metrics::new(),
            stopping,
            config,
        }
    }

    /// The database and the rights that a client's token opens.
    fn authorize(&self, headers: &HeaderMap, query: &Query) -> Option<(&Executor, &Session)> {
        let offered = match headers.get(AUTHORIZATION) {
            Some(header) => bearer(header.as_bytes()),
            None => query.token.as_deref(),
        };
        let tokens = self.config.databases.iter().flat_map(|database| &database.grants).map(|grant| &grant.token);
        let (database, session) = self.sessions.get(auth::find(tokens, offered?)?)?;
        Some((&self.databases.get(*database)?.1, session))
    }
}

async fn health(State(shared): State<Arc<Shared>>) -> Response {
    let up = shared.databases.iter().all(|(_, executor)| executor.redis_is_up());
    let redis = if up { "up" } else { "down" };
    let body = format!("{{\"status\":\"ok\",\"redis\":\"{redis}\"}}");
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

async fn show_metrics(State(shared): State<Arc<Shared>>, request: HttpRequest) -> Response {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    if shared.authorize(request.headers(), &query).is_none() {
        return respond(&shared, Answer::error(401, WRONG_TOKEN, Format::Plain));
    }
    for (name, executor) in &shared.databases {
        shared.metrics.redis_up(name, executor.redis_is_up());
    }
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], shared.metrics.text()).into_response()
}

async fn handle(State(shared): State<Arc<Shared>>, request: HttpRequest) -> Response {
    let method = request.method().clone();
    let form = match request.uri().path() {
        "/pipeline" => "pipeline",
        "/multi-exec" => "multi-exec",
        "/" => "single",
        path if events::is_stream(path) => "stream",
        _ => "path",
    };
    let response = match answer(&shared, request).await {
        Ok(response) => response,
        Err(answer) => respond(&shared, answer),
    };
    shared.metrics.answered(form, response.status().as_u16());
    debug!(%method, form, status = response.status().as_u16(), "answered");
    response
}

fn respond(shared: &Shared, answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = HeaderValue::from_static(answer.format.content_type());
    let mut response = (status, [(CONTENT_TYPE, content_type)], answer.body).into_response();
    let headers = response.headers_mut();
    headers.insert(SYNC_TOKEN, shared.sync.next());
    match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT"));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

async fn answer(shared: &Arc<Shared>, request: HttpRequest) -> Result<Response, Answer> {
    let (parts, body) = request.into_parts();
    let has_body = has_body(&parts)?;
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let granted = shared.authorize(&parts.headers, &query);
    let (executor, session) = granted.ok_or_else(|| Answer::error(401, WRONG_TOKEN, Format::Plain))?;
    let format = format(&parts.headers)?;
    let body = match has_body {
        true => Some(body::read(body, shared.config.body_limit, shared.config.body_timeout, format).await?),
        false => None,
    };
    if events::is_stream(parts.uri.path()) {
        return events::open(shared, executor, session, parts.uri.path(), &query).await;
    }
    let bad = |error: request::BadRequest| Answer::error(400, error.to_string(), format);
    let request = parse(parts.uri.path(), &query, body.as_ref()).map_err(bad)?;
    let commands = request.len();
    if commands > shared.config.commands_limit {
        let limit = shared.config.commands_limit;
        return Err(Answer::error(400, format!("ERR max pipeline size exceeded. Limit: {limit} commands"), format));
    }
    // Only what waits for Redis takes up room, not a client that is slow to send or to read.
    let Ok(_room) = shared.room.try_acquire() else {
        shared.metrics.overloaded();
        return Err(Answer::error(503, OVERLOADED, format));
    };
    let _waiting = Counted::up(&shared.metrics.waiting);
    let begun = Instant::now();
    let answer = executor.execute(request, format, session).await;
    shared.metrics.ran(commands, begun.elapsed());
    Ok(respond(shared, answer))
}

/// Whether the method carries a body, and may be used on this path at all.
fn has_body(parts: &Parts) -> Result<bool, Answer> {
    let listed = matches!(parts.uri.path(), "/pipeline" | "/multi-exec");
    match parts.method {
        Method::POST | Method::PUT => Ok(true),
        Method::GET | Method::HEAD if !listed => Ok(false),
        _ => Err(Answer::error(405, "ERR method not allowed", Format::Plain)),
    }
}

fn format(headers: &HeaderMap) -> Result<Format, Answer> {
    let is = |value: &HeaderValue, word: &str| value.as_bytes().eq_ignore_ascii_case(word.as_bytes());
    let text = match (headers.get(ENCODING), headers.get(RESPONSE_FORMAT)) {
        (None, None) => return Ok(Format::Plain),
        (Some(encoding), None) if is(encoding, "base64") => return Ok(Format::Base64),
        (None, Some(format)) if is(format, "resp2") => return Ok(Format::Resp2),
        (None, Some(format)) if is(format, "json") => return Ok(Format::Plain),
        (Some(_), None) => "ERR the only Upstash-Encoding is base64",
        (None, Some(_)) => "ERR the only Upstash-Response-Format is resp2",
        (Some(_), Some(_)) => "ERR Upstash-Encoding and Upstash-Response-Format cannot be used together",
    };
    Err(Answer::error(400, text, Format::Plain))
}

fn parse(path: &str, query: &Query, body: Option<&Bytes>) -> Result<Request, request::BadRequest> {
    match (path, body) {
        ("/", Some(body)) => request::single(body).map(Request::Single),
        ("/pipeline", Some(body)) => request::list(body).map(Request::Pipeline),
        ("/multi-exec", Some(body)) => request::list(body).map(Request::Transaction),
        (path, body) => request::path_style(path, query, body).map(Request::Single),
    }
}

/// How long requests under way may take once the bridge is told to stop.
const GRACE: Duration = Duration::from_secs(10);
