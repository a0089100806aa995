//! `host.js` as ports: one crossing to send, one to answer, heads as one string.

use std::panic::PanicHookInfo;

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise};

use super::{head, operation, service};
use crate::api::json::Object;
use crate::api::response::Response;
use crate::gate::ports::{Answer, AskFault, DocumentAway, Form, Forward, OriginFault, Point, Ports, Signature};
use crate::model::Millis;

/// Answers of the origin above this many bytes are streamed on instead of being read.
const KEEP: u32 = 64 * 1024;

#[wasm_bindgen(raw_module = "./host.js")]
extern "C" {
    /// One request's resources.
    #[derive(Clone)]
    pub type Exchange;

    #[wasm_bindgen(method)]
    fn forward(this: &Exchange, head: &str, body: &[u8], timeout_ms: f64, keep: u32, streams: f64) -> Promise;
    #[wasm_bindgen(method)]
    fn flood(this: &Exchange, key: &str) -> Promise;
    #[wasm_bindgen(method, getter)]
    fn head(this: &Exchange) -> String;
    #[wasm_bindgen(method, getter)]
    fn body(this: &Exchange) -> Option<Vec<u8>>;
    #[wasm_bindgen(method, getter)]
    fn is_streaming(this: &Exchange) -> bool;
    #[wasm_bindgen(method)]
    fn respond(this: &Exchange, head: &str, body: &[u8], streamed: bool);
    #[wasm_bindgen(method)]
    fn wait_until(this: &Exchange, promise: &Promise);

    fn log(line: &str);
    fn panicked(line: &str);
}

/// The ports of one request.
#[derive(Clone)]
pub(super) struct Host(pub(super) Exchange);

impl Ports for Host {
    // Milliseconds since the epoch are a whole number that a double holds exactly.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn now(&self) -> Millis {
        Millis(js_sys::Date::now() as u64)
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        // The platform's `crypto.getRandomValues` fails for no buffer of this size.
        let _ = getrandom::fill(&mut bytes);
        bytes
    }

    async fn forward(&self, request: Forward) -> Result<Answer, OriginFault> {
        let first = format!("{}\n{}", request.method, request.target);
        let head = head::write(first, request.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())));
        #[allow(clippy::cast_precision_loss)]
        let (timeout, streams) = (request.timeout.0 as f64, request.streams.map_or(-1.0, |most| most as f64));
        let sent = self.0.forward(&head, &request.body, timeout, KEEP, streams);
        let answered = JsFuture::from(sent).await.is_ok_and(|answered| answered.is_truthy());
        let head = self.0.head();
        if !answered {
            return Err(match head.as_str() {
                "timeout" => OriginFault::Timeout,
                "too large" => OriginFault::BodyTooLarge,
                _ => OriginFault::Unreachable,
            });
        }
        let body = self.0.body();
        let ([status], headers) = head::read(&head);
        let mut response = Response::new(status.parse().map_err(|_| OriginFault::Unreachable)?);
        headers.for_each(|(name, value)| response.header(name.to_owned(), value));
        // A 204 or an answer to HEAD has neither a body nor a stream.
        let streamed = body.is_none() && self.0.is_streaming();
        response.body = body.unwrap_or_default();
        Ok(Answer { response, streamed })
    }

    async fn verify(&self, signature: Signature<'_>) -> bool {
        service::verify(signature).await
    }

    async fn ask(&self, url: &str, form: Option<Form<'_>>, timeout: Millis) -> Result<(u16, String), AskFault> {
        service::ask(url, form, timeout).await
    }

    async fn pause(&self, length: Millis) {
        service::pause(length).await;
    }

    async fn document(&self) -> Result<Option<String>, DocumentAway> {
        operation::document().await
    }

    async fn flood(&self, key: &str) -> bool {
        JsFuture::from(self.0.flood(key)).await.is_ok_and(|passes| passes.is_truthy())
    }

    fn measure(&self, point: &Point<'_>) {
        operation::measure(point);
    }

    fn background(&self, work: impl Future<Output = ()> + 'static) {
        self.0.wait_until(&future_to_promise(async move {
            work.await;
            Ok(JsValue::UNDEFINED)
        }));
    }

    fn log(&self, line: &str) {
        log(line);
    }
}

/// Hands the answer to JavaScript.
pub(super) fn respond(exchange: &Exchange, answer: &Answer) {
    let headers = answer.response.headers.iter().map(|(n, v)| (n.as_ref(), v.as_str()));
    let head = head::write(answer.response.status.to_string(), headers);
    exchange.respond(&head, &answer.response.body, answer.streamed);
}

/// Says where a panic happened; its message could hold a value of the request.
pub(super) fn report_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    panicked(&Object::new().text("event", "panic").text("at", &place).done());
}
