//! `service.js`: the platform's cryptography, its timers, and services at addresses of the configuration.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::gate::ports::{AskFault, Form, Signature};
use crate::model::Millis;

/// The largest answer that is read, in bytes: a key set has a few thousand.
const LARGEST: u32 = 64 * 1024;

#[wasm_bindgen(raw_module = "./service.js")]
extern "C" {
    #[wasm_bindgen(js_name = verify)]
    fn js_verify(algorithm: &str, jwk: &str, message: &[u8], signature: &[u8]) -> Promise;
    #[wasm_bindgen(js_name = ask)]
    fn js_ask(url: &str, form: &str, timeout_ms: f64, cap: u32) -> Promise;
    #[wasm_bindgen(js_name = pause)]
    fn js_pause(ms: f64) -> Promise;
}

/// Whether a signature is good.
pub(super) async fn verify(check: Signature<'_>) -> bool {
    let checked = js_verify(check.algorithm.name(), check.jwk, check.message, check.signature);
    JsFuture::from(checked).await.is_ok_and(|good| good.as_bool() == Some(true))
}

/// Status and body of a service.
pub(super) async fn ask(url: &str, form: Option<Form<'_>>, timeout: Millis) -> Result<(u16, String), AskFault> {
    let fields: Vec<&str> = form.unwrap_or_default().iter().flat_map(|(name, value)| [*name, *value]).collect();
    let answer = JsFuture::from(js_ask(url, &fields.join("\n"), double(timeout), LARGEST)).await;
    let answer = answer.ok().and_then(|text| text.as_string()).unwrap_or_default();
    match answer.split_once('\n') {
        Some((status, body)) => Ok((status.parse().map_err(|_| AskFault::Unreachable)?, body.to_owned())),
        None if answer == "timeout" => Err(AskFault::Timeout),
        None if answer == "large" => Err(AskFault::TooLarge),
        None => Err(AskFault::Unreachable),
    }
}

/// Resolves after that time.
pub(super) async fn pause(length: Millis) {
    let _ = JsFuture::from(js_pause(double(length))).await;
}

#[allow(clippy::cast_precision_loss)]
fn double(ms: Millis) -> f64 {
    ms.0 as f64
}
