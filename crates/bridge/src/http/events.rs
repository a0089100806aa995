//! SUBSCRIBE, PSUBSCRIBE and MONITOR as server-sent events.
//!
//! Each has a connection to Redis of its own, which lives as long as the response's body does: when the client goes
//! away, the body is dropped and the connection with it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::{SYNC_TOKEN, Shared};
use crate::backend::Stream;
use crate::execute::{Answer, Executor, Session};
use crate::metrics::Counted;
use crate::reply::Format;
use crate::request::{self, Query};
use crate::resp::{self, Tree};

/// How often a comment is sent when nothing happens, so that a client that vanished without a word is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Whether an address asks for a stream.
pub(super) fn is_stream(path: &str) -> bool {
    let name = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    ["subscribe", "psubscribe", "monitor"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// An open stream and what ends with it.
struct Open {
    stream: Stream,
    stopping: tokio::sync::watch::Receiver<bool>,
    _room: OwnedSemaphorePermit,
    _counted: Counted,
}

/// Opens a stream; what Redis says first decides whether it is one.
pub(super) async fn open(
    shared: &Arc<Shared>,
    executor: &Executor,
    session: &Session,
    path: &str,
    query: &Query,
) -> Result<Response, Answer> {
    // Clients send `[]` as the body; channels are in the address.
    let command =
        request::path_style(path, query, None).map_err(|bad| Answer::error(400, bad.to_string(), Format::Plain))?;
    let room = Arc::clone(&shared.streams).try_acquire_owned().map_err(|_| {
        shared.metrics.overloaded();
        Answer::error(503, "ERR the bridge has as many streams as it may", Format::Plain)
    })?;
    let mut stream = executor.stream(command, session).await?;
    let lost = || Answer::error(503, "ERR the connection to redis was lost", Format::Plain);
    let limit = shared.config.command_timeout;
    let first = timeout(limit, stream.next()).await.ok().flatten().ok_or_else(lost)?;
    if let Some(error) = resp::error(&first) {
        return Err(Answer::error(400, error, Format::Plain));
    }
    let stopping = shared.stopping.clone();
    let open = Open { stream, stopping, _room: room, _counted: Counted::up(&shared.metrics.streams) };
    let rest = stream::unfold(open, |mut open| async move {
        let event = tokio::select! {
            reply = open.stream.next() => frame(&reply?),
            () = tokio::time::sleep(HEARTBEAT) => Bytes::from_static(b": still here\n\n"),
            _ = open.stopping.wait_for(|stop| *stop) => return None,
        };
        Some((event, open))
    });
    let events = stream::StreamExt::chain(stream::iter([frame(&first)]), rest);
    let body = Body::from_stream(stream::StreamExt::map(events, Ok::<_, std::convert::Infallible>));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(SYNC_TOKEN, shared.sync.next());
    Ok(response)
}

/// `data: message,channel,text`; MONITOR's lines as they are.
fn frame(reply: &[u8]) -> Bytes {
    let Some(tree) = Tree::read(&mut &*reply) else { return Bytes::new() };
    let fields: Vec<&[u8]> = match &tree {
        Tree::Items(items) => items.iter().map(Tree::text).collect(),
        Tree::Leaf(_) => vec![tree.text()],
    };
    let line = fields.join(&b","[..]);
    let mut event = String::new();
    // A line break would end the field: each line is a field of its own, as the format has it.
    for line in String::from_utf8_lossy(&line).replace("\r\n", "\n").split(['\n', '\r']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_separated_by_commas_and_lines_kept_apart() {
        assert_eq!(frame(b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"), "data: subscribe,c,1\n\n");
        assert_eq!(frame(b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$3\r\na\nb\r\n"), "data: message,c,a\ndata: b\n\n");
        assert_eq!(frame(b"+OK\r\n"), "data: OK\n\n");
    }

    #[test]
    fn only_three_words_open_a_stream() {
        for path in ["/subscribe/c", "/PSUBSCRIBE/p*", "/monitor"] {
            assert!(is_stream(path), "{path}");
        }
        for path in ["/", "/get/subscribe", "/subscribes/c", "/pipeline"] {
            assert!(!is_stream(path), "{path}");
        }
    }
}
