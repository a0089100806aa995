//! The gate on Cloudflare Workers: the ports over JavaScript. The one place that knows it.

mod head;
mod host;
mod operation;
mod service;
mod transport;

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::{Function, JsString};
use wasm_bindgen::prelude::*;

use self::host::{Exchange, Host};
use self::transport::EdgeTransport;
use crate::config;
use crate::gate::edition::Document;
use crate::gate::live::Deployment;
use crate::gate::ports::{Body, Request};
use crate::gate::{Gate, Secrets};

/// The configuration that the build has checked.
const GATE_JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/gate.json"));

thread_local! {
    static GATE: OnceCell<Rc<Gate<EdgeTransport>>> = const { OnceCell::new() };
}

/// Reads configuration and secrets; `env` gives a variable of the environment, or an empty text.
///
/// # Errors
/// What is wrong, naming the variable and never its value.
#[wasm_bindgen]
pub fn start(env: &Function) -> Result<(), JsError> {
    std::panic::set_hook(Box::new(host::report_panic));
    let variable = |name: &str| {
        let value = env.call1(&JsValue::NULL, &JsString::from(name)).ok().and_then(|value| value.as_string());
        value.unwrap_or_default()
    };
    for name in ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN", "ORIGIN_URL"] {
        if variable(name).is_empty() {
            return Err(JsError::new(&format!("{name} is not set")));
        }
    }
    let given = variable("SLUICE_GATE_JSON");
    let document = Document::read(if given.is_empty() { GATE_JSON } else { &given }).map_err(|faults| {
        let first = faults.first().map(ToString::to_string).unwrap_or_default();
        JsError::new(&first)
    })?;
    let partitions = match variable("SLUICE_PARTITIONS") {
        text if text.is_empty() => None,
        text => {
            let number = text.parse().ok().filter(|n| config::PARTITIONS.contains(n));
            Some(number.ok_or_else(|| JsError::new("SLUICE_PARTITIONS must be a number from 1 to 1024"))?)
        }
    };
    let bound = |name: &str| env.call1(&JsValue::NULL, &JsString::from(name)).is_ok_and(|binding| binding.is_object());
    let deployment =
        Deployment { partitions, live: bound("GATE"), flood: bound("FLOOD"), measures: bound("ANALYTICS") };
    let secrets =
        ["USER_JWT_SECRET", "ORDER_TOKEN_SECRET", "ASSERTION_SECRET", "CHALLENGE_SECRET", "ADMIN_TOKEN"].map(variable);
    let [users, tokens, assertions, challenge, admin] = &secrets;
    let transport = transport::new(&variable("UPSTASH_REDIS_REST_URL"), &variable("UPSTASH_REDIS_REST_TOKEN"))?;
    let gate = Gate::new(document, deployment, Secrets { users, tokens, assertions, challenge, admin }, transport)
        .map_err(|(purpose, fault)| {
            let name = match purpose {
                "users" => "USER_JWT_SECRET",
                "tokens" => "ORDER_TOKEN_SECRET",
                "admin" => "ADMIN_TOKEN",
                "challenge" => "CHALLENGE_SECRET",
                _ => "ASSERTION_SECRET",
            };
            JsError::new(&format!("{name}: {fault}"))
        })?;
    GATE.with(|cell| {
        let _ = cell.set(Rc::new(gate));
    });
    Ok(())
}

/// How the body of such a request is to be taken in: whole, up to so many bytes; below 0: not at all.
#[wasm_bindgen]
pub fn reads(method: &str, path: &str) -> i32 {
    let gate = GATE.with(|cell| cell.get().cloned());
    let most = gate.and_then(|gate| gate.reads(method, path)).map(i32::try_from);
    most.map_or(-1, |most| most.unwrap_or(i32::MAX))
}

/// Answers one request: the answer is in `exchange` when the promise resolves. Without a `body` it was too large, or it
/// is streamed.
#[wasm_bindgen]
pub async fn handle(exchange: Exchange, head: String, body: Option<Vec<u8>>, streamed: bool) {
    let Some(gate) = GATE.with(|cell| cell.get().cloned()) else { return };
    let missing = if streamed { Body::Streamed } else { Body::TooLarge };
    let request = request(&head, body.map_or(missing, Body::Whole));
    let answer = gate.handle(request, Host(exchange.clone())).await;
    host::respond(&exchange, &answer);
}

/// The request out of its head: method, path and query are its first lines.
fn request(head: &str, body: Body) -> Request {
    let ([method, path, query], headers) = head::read(head);
    Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body,
    }
}
