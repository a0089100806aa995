//! `operation.js`: what operators change and see.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::gate::ports::{DocumentAway, Point};
use crate::model::Millis;

#[wasm_bindgen(raw_module = "./operation.js")]
extern "C" {
    fn live_document() -> Promise;
    #[wasm_bindgen(js_name = measure)]
    fn write(route: &str, verdict: &str, sku: &str, took: f64, redis: f64, origin: f64);
}

/// The replacement configuration, when there is one.
pub(super) async fn document() -> Result<Option<String>, DocumentAway> {
    let text = JsFuture::from(live_document()).await.ok().and_then(|text| text.as_string()).ok_or(DocumentAway)?;
    match text.strip_prefix('+') {
        Some(document) => Ok(Some(document.to_owned())),
        None if text == "-" => Ok(None),
        None => Err(DocumentAway),
    }
}

/// Writes one decision to Analytics Engine.
pub(super) fn measure(point: &Point<'_>) {
    #[allow(clippy::cast_precision_loss)]
    let time = |time: Option<Millis>| time.map_or(-1.0, |time| time.0 as f64);
    write(point.route, point.verdict, point.sku, time(Some(point.took)), time(point.redis), time(point.origin));
}
