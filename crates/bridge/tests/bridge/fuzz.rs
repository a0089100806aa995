//! Requests made at random: read or refused, never a panic; and what is read reaches Redis unchanged.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_bridge::request::{self, Query};
use sluice_bridge::resp::{Scanner, encode, next_reply};

use crate::support::{Bridge, Redis};

/// JSON of any shape, also such that is no request.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 8, |inner| {
        prop_oneof![vec(inner.clone(), 0..8).prop_map(Value::from), inner.prop_map(|value| json!({ "k": value }))]
    })
}

/// What looks like a request, with bytes changed here and there.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    (any_json(), vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(|(value, changes)| {
        let mut bytes = value.to_string().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

fn words() -> impl Strategy<Value = Vec<String>> {
    ("[a-zA-Z]{1,8}", vec(".{0,30}", 0..6)).prop_map(|(name, mut rest)| {
        rest.insert(0, name);
        rest
    })
}

/// A parser that is right and slow; it refuses numbers that no float can hold, which the bridge sends as written.
fn by_serde(body: &[u8]) -> Option<usize> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let items = value.as_array()?;
    let flat = items.iter().all(|item| !item.is_array() && !item.is_object());
    (flat && items.first().is_some_and(|name| name.as_str() != Some(""))).then_some(items.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let body = Bytes::from(bytes);
        let _ = request::single(&body);
        let _ = request::list(&body);
    }

    #[test]
    fn what_is_nearly_json_is_read_as_serde_reads_it(bytes in nearly_json()) {
        let body = Bytes::from(bytes);
        let too_big = serde_json::from_slice::<Value>(&body).is_err_and(|e| e.to_string().contains("out of range"));
        prop_assume!(!too_big);
        let read = request::single(&body).ok().map(|command| command.parts().len());
        prop_assert_eq!(read, by_serde(&body), "{:?}", body);
        let _ = request::list(&body);
    }

    #[test]
    fn strings_arrive_as_they_are(list in vec(words(), 1..5)) {
        let body = Bytes::from(json!(list).to_string());
        let commands = request::list(&body).unwrap();
        let read: Vec<Vec<&[u8]>> = commands.iter().map(|c| c.parts().iter().map(|part| &part[..]).collect()).collect();
        let sent: Vec<Vec<&[u8]>> = list.iter().map(|c| c.iter().map(String::as_bytes).collect()).collect();
        prop_assert_eq!(read, sent);
        // What is written to Redis is one well-formed array for each command.
        let mut out = Vec::new();
        commands.iter().for_each(|command| encode(&mut out, command));
        let mut rest = &out[..];
        for _ in &commands {
            prop_assert!(next_reply(&mut rest).is_some());
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn addresses_are_read_or_refused(path in ".{0,60}", query in ".{0,60}", body in vec(any::<u8>(), 0..20)) {
        let query = Query::parse(&query);
        let _ = request::path_style(&path, &query, Some(&Bytes::from(body)));
    }

    #[test]
    fn replies_at_random_never_panic(bytes in vec(any::<u8>(), 0..200), head in "[-+:$*%~>|=!_#,(][0-9-]{0,4}\r\n") {
        for reply in [bytes.clone(), [head.as_bytes(), &bytes].concat()] {
            let _ = Scanner::new(1).advance(&reply);
            let mut out = Vec::new();
            sluice_bridge::reply::write_item(&mut out, &reply, sluice_bridge::reply::Format::Plain);
        }
    }
}

/// The same through HTTP and Redis: every answer is JSON with a status of ours, and the bridge lives on.
#[tokio::test]
async fn requests_at_random_are_answered_with_json() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let redis = Redis::start().await;
    let bridge = Bridge::before(&redis).await;
    let mut runner = TestRunner::deterministic();
    for turn in 0..300 {
        let bytes = nearly_json().new_tree(&mut runner).unwrap().current();
        let path = ["/", "/pipeline", "/multi-exec", "/echo", "/%00/x?a=b&c"][turn % 5];
        let response = bridge.request("POST", path).body(bytes.clone()).send().await.unwrap();
        let status = response.status().as_u16();
        assert!(matches!(status, 200 | 400), "{status}: {path} {}", String::from_utf8_lossy(&bytes));
        let text = response.text().await.unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    }
    assert_eq!(bridge.command(r#"["PING"]"#).await, "PONG");
}
