//! `Upstash-Sync-Token`: a value that differs in every reply.
//!
//! One bridge in front of one Redis reads its own writes without it; clients expect the header.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::HeaderValue;

/// Gives out one value after the other.
pub(super) struct SyncToken {
    process: u64,
    replies: AtomicU64,
}

impl SyncToken {
    pub(super) fn new() -> Self {
        Self { process: RandomState::new().hash_one("sync token"), replies: AtomicU64::new(0) }
    }

    pub(super) fn next(&self) -> HeaderValue {
        let reply = self.replies.fetch_add(1, Ordering::Relaxed);
        HeaderValue::from_str(&format!("{:016x}-{reply:x}", self.process))
            .unwrap_or_else(|_| HeaderValue::from_static("0"))
    }
}
