//! The way to Redis: one imported function by default, `reqwest` with the feature of that name.
//!
//! `reqwest` costs several crossings a call (headers, URL, request, abort handle, stream), the imported function one.

#[cfg(feature = "reqwest")]
pub(super) use sluice_upstash::transport::Reqwest as EdgeTransport;
use wasm_bindgen::JsError;

#[cfg(not(feature = "reqwest"))]
pub(super) use self::imported::Imported as EdgeTransport;

/// The transport to `url` with `token`.
#[cfg(feature = "reqwest")]
pub(super) fn new(url: &str, token: &str) -> Result<EdgeTransport, JsError> {
    EdgeTransport::new(url, token).map_err(|_| JsError::new("the HTTP client cannot be made"))
}

/// The transport; `host.js` has read address and token itself.
#[cfg(not(feature = "reqwest"))]
#[allow(clippy::unnecessary_wraps)]
pub(super) fn new(_url: &str, _token: &str) -> Result<EdgeTransport, JsError> {
    Ok(EdgeTransport)
}

#[cfg(not(feature = "reqwest"))]
mod imported {
    use std::time::Duration;

    use js_sys::Promise;
    use sluice_upstash::{HttpReply, Transport, TransportFault};
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::JsFuture;

    #[wasm_bindgen(raw_module = "./host.js")]
    extern "C" {
        fn redis_post(path: &str, body: &str, timeout_ms: f64) -> Promise;
    }

    /// The transport over `redis_post` of `host.js`.
    #[derive(Debug)]
    pub(in super::super) struct Imported;

    impl Transport for Imported {
        async fn post(&self, path: &'static str, body: String, timeout: Duration) -> Result<HttpReply, TransportFault> {
            #[allow(clippy::cast_precision_loss)]
            let answer = redis_post(path, &body, timeout.as_millis() as f64);
            let answer = JsFuture::from(answer).await.ok().and_then(|text| text.as_string()).unwrap_or_default();
            match answer.split_once('\n') {
                Some((status, body)) => match status.parse() {
                    Ok(status) => Ok(HttpReply { status, body: body.to_owned() }),
                    Err(_) => Err(TransportFault::Network("no status".to_owned())),
                },
                None if answer == "timeout" => Err(TransportFault::Timeout),
                None => Err(TransportFault::Network("the request failed".to_owned())),
            }
        }
    }
}
