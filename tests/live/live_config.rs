//! A configuration that is replaced in KV while workerd runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluice::config::Gate;
use xtask::clock;

use crate::foreign::{Foreign, answer};
use crate::http::Edge;
use crate::scene::{Scene, builder};

/// A KV namespace as workerd asks one: `GET /gate` with a status and a text, 404 when the key is not there.
struct Kv {
    service: Foreign,
    held: Arc<Mutex<(u16, String)>>,
}

impl Kv {
    async fn start() -> Self {
        let held = Arc::new(Mutex::new((404, String::new())));
        let kept = Arc::clone(&held);
        let service = Foreign::start(move |seen| {
            let (status, text) = kept.lock().unwrap().clone();
            async move { if seen.target.starts_with("/gate?") { answer(status, &[], text) } else { answer(500, &[], "") } }
        });
        Self { service: service.await, held }
    }

    fn address(&self) -> &str {
        self.service.url().strip_prefix("http://").unwrap()
    }

    fn holds(&self, status: u16, text: &str) {
        *self.held.lock().unwrap() = (status, text.to_owned());
    }

    fn reads(&self) -> usize {
        self.service.seen().len()
    }
}

/// This repository's document, looked for each second, with the given limit for reading.
fn document(burst: u32) -> String {
    let text = include_str!("../../gate.toml").replacen("[shed]", "[live]\nrefresh_s = 1\n\n[shed]", 1);
    let text = text.replacen(
        "name = \"read\"\nkey = \"ip\"\nburst = 40",
        &format!("name = \"read\"\nkey = \"ip\"\nburst = {burst}"),
        1,
    );
    assert!(text.contains(&format!("burst = {burst}")));
    Gate::to_json(&text).unwrap()
}

/// The burst of the limit for reading, as the next answer tells it.
async fn burst(edge: &Edge) -> String {
    let answer = edge.get("/v1/sales/demo/details").send().await;
    let policy = answer.header("ratelimit-policy").unwrap_or_default().to_owned();
    policy.split("q=").nth(1).map(|rest| rest.split([';', ',']).next().unwrap().to_owned()).unwrap_or(policy)
}

async fn becomes(edge: &Edge, want: &str) {
    let deadline = clock::now() + Duration::from_secs(20);
    loop {
        let seen = burst(edge).await;
        if seen == want {
            return;
        }
        assert!(clock::now() < deadline, "the burst is {seen}, not {want}");
        tokio::time::sleep(clock::POLL).await;
    }
}

#[tokio::test]
async fn a_limit_is_changed_in_a_running_gate_and_a_faulty_change_is_not() {
    let kv = Kv::start().await;
    kv.holds(200, &document(400));
    let scene = Scene::built(builder().kv(kv.address()), Foreign::accepting().await).await;
    becomes(&scene.edge, "400").await;
    kv.holds(200, &document(300));
    becomes(&scene.edge, "300").await;
    for (status, text) in [(200, document(200).replace("20/s", "0/s")), (500, String::new())] {
        kv.holds(status, &text);
        let reads = kv.reads();
        while kv.reads() < reads + 2 {
            assert_eq!(burst(&scene.edge).await, "300", "{status}");
            tokio::time::sleep(clock::POLL).await;
        }
    }
    kv.holds(404, "");
    becomes(&scene.edge, "40").await;
    let log = scene.stack.process(xtask::stack::Part::Worker).unwrap().log_tail();
    assert_eq!(log.matches("\"refused\"").count(), 1, "{log}");
    assert!(log.contains("limit.5.rate"), "{log}");
}
