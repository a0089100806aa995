//! `operation.js`: what operators change and see.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::gate::ports::DocumentAway;

#[wasm_bindgen(raw_module = "./operation.js")]
extern "C" {
    fn live_document() -> Promise;
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
