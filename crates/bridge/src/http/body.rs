//! Reads a request's body: bounded in bytes and in time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use tokio::time::timeout;

use crate::execute::Answer;

/// How long a client may take to send its body.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body that is too large is still read up to so many times the limit, and thrown away: many clients look at
/// the answer only once they have sent everything.
const DRAINED: usize = 4;

/// The whole body, or the answer to one that is too large, too slow or broken off.
pub(super) async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Answer> {
    timeout(PATIENCE, read_all(body, limit))
        .await
        .unwrap_or_else(|_| Err(Answer::error(408, "ERR the request body did not arrive in time")))
}

async fn read_all(mut body: Body, limit: usize) -> Result<Vec<u8>, Answer> {
    let (mut bytes, mut seen) = (Vec::new(), 0usize);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| Answer::error(400, "ERR the request body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= limit {
            bytes.extend_from_slice(&data);
        } else if seen > limit.saturating_mul(DRAINED) {
            break;
        } else {
            bytes = Vec::new();
        }
    }
    if seen > limit {
        return Err(Answer::error(413, &format!("ERR max request size exceeded. Limit: {limit} bytes")));
    }
    Ok(bytes)
}
