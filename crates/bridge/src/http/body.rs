//! Reads a request's body: bounded in bytes and in time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use tokio::time::timeout;

use crate::execute::Answer;
use crate::reply::Format;

/// A body that is too large is still read up to so many times the limit, and thrown away: many clients look at
/// the answer only once they have sent everything.
const DRAINED: usize = 4;

/// The whole body, or the answer to one that is too large, too slow or broken off.
pub(super) async fn read(body: Body, limit: usize, patience: Duration, format: Format) -> Result<Bytes, Answer> {
    timeout(patience, read_all(body, limit, format))
        .await
        .unwrap_or_else(|_| Err(Answer::error(408, "ERR the request body did not arrive in time", format)))
}

async fn read_all(mut body: Body, limit: usize, format: Format) -> Result<Bytes, Answer> {
    let (mut only, mut gathered, mut seen) = (Bytes::new(), Vec::new(), 0usize);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| Answer::error(400, "ERR the request body broke off", format))?;
        let Ok(data) = frame.into_data() else { continue };
        let before = seen;
        seen = seen.saturating_add(data.len());
        if seen > limit.saturating_mul(DRAINED) {
            break;
        } else if seen > limit {
            (only, gathered) = (Bytes::new(), Vec::new());
        } else if before == 0 {
            // Most bodies come in one piece, and are not copied.
            only = data;
        } else {
            if gathered.is_empty() {
                gathered.extend_from_slice(&only);
            }
            gathered.extend_from_slice(&data);
        }
    }
    if seen > limit {
        return Err(Answer::error(413, format!("ERR max request size exceeded. Limit: {limit} bytes"), format));
    }
    Ok(if gathered.is_empty() { only } else { gathered.into() })
}
