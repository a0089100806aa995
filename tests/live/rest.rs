//! Between edge and bridge: passes every call on, counts them, and does to some what a bad network would do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use axum::body::{Body, Bytes};
use axum::http::Response;
use futures_util::stream;
use serde_json::Value;
use xtask::build::Variant;

use crate::foreign::{Foreign, Seen, answer};
use crate::scene::{Scene, builder};

/// What happens to one call.
#[derive(Clone, Debug)]
pub enum Trick {
    /// Redis runs it, and the reply is lost on the way back.
    LoseReply,
    /// Redis does not see it; this is answered.
    Say(u16, &'static str),
}

/// The tricks still to be played.
type Tricks = Arc<Mutex<VecDeque<Trick>>>;

/// The stand-in.
pub struct Rest {
    pub calls: Foreign,
    tricks: Tricks,
}

impl Rest {
    /// A scene whose edge reaches Redis through this.
    pub async fn before(variant: Variant) -> (Scene, Self) {
        let (bridge, tricks): (Arc<OnceLock<String>>, Tricks) = Default::default();
        let (to, playing) = (Arc::clone(&bridge), Arc::clone(&tricks));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let calls = Foreign::start(move |call| {
            let (to, http) = (to.get().cloned().unwrap_or_default(), http.clone());
            let trick = playing.lock().unwrap().pop_front();
            async move {
                if let Some(Trick::Say(status, body)) = trick {
                    return answer(status, &[("content-type", "application/json")], body);
                }
                let (status, body) = pass_on(&http, &to, call).await;
                let body = match trick {
                    Some(Trick::LoseReply) => {
                        Body::from_stream(stream::iter([Ok(body.slice(..1)), Err("the connection is lost")]))
                    }
                    _ => Body::from(body),
                };
                Response::builder().status(status).body(body).unwrap()
            }
        });
        let calls = calls.await;
        let builder = builder().variant(variant).binding("UPSTASH_REDIS_REST_URL", calls.url());
        let scene = Scene::built(builder, Foreign::accepting().await).await;
        bridge.set(scene.stack.bridge_url()).unwrap();
        (scene, Self { calls, tricks })
    }

    /// Plays a trick on the next call that has none yet.
    pub fn play(&self, trick: Trick) {
        self.tricks.lock().unwrap().push_back(trick);
    }

    /// The commands that were sent, one an HTTP request, by their names and keys; what travels with one is left out.
    pub fn commands(&self) -> Vec<(String, Vec<String>)> {
        let command = |call: Seen| {
            assert_eq!(call.method, "POST");
            assert!(matches!(call.target.as_str(), "/" | "/pipeline"), "r_worldmonitor_pr2524: {}", call.target);
            let mut words: Vec<Value> = serde_json::from_slice(&call.body).unwrap();
            if call.target == "/pipeline" {
                let Value::Array(first) = words.swap_remove(0) else { panic!("{words:?}") };
                words = first;
            }
            let text = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
            let count: usize = text(&words[2]).parse().unwrap();
            (text(&words[0]), words[3..3 + count].iter().map(text).collect())
        };
        self.calls.seen().into_iter().map(command).collect()
    }
}

async fn pass_on(http: &reqwest::Client, to: &str, call: Seen) -> (u16, Bytes) {
    let mut request = http.post(format!("{to}{}", call.target)).body(call.body);
    for name in ["authorization", "content-type"] {
        if let Some(value) = call.headers.get(name) {
            request = request.header(name, value);
        }
    }
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.bytes().await.unwrap())
}
