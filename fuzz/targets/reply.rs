//! Whatever Redis, or what stands before it, answers: a value or a fault, never a panic; a kept answer survives packing.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sluice::api::answer;
use sluice::script::{admit, complete, deduct};
use sluice_fuzz::Stage;
use sluice_upstash::{Client, Value};

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    Http { status: u16, body: &'a str },
    Value(Reply<'a>),
    Answer(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Reply<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    List(Vec<Reply<'a>>),
}

fn value(reply: Reply<'_>) -> Value {
    match reply {
        Reply::Null => Value::Null,
        Reply::Int(n) => Value::Int(n),
        Reply::Text(text) => Value::Str(text.to_owned()),
        Reply::List(items) => Value::Array(items.into_iter().map(value).collect()),
    }
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Http { status, body } => {
            let stage = Stage::default();
            stage.redis(status, body.to_owned());
            stage.redis(status, body.to_owned());
            let client = Client::new(stage);
            let left = || Duration::from_millis(100);
            if let Ok(value) = pollster::block_on(client.eval(&admit::SCRIPT, &[], &[], left)) {
                let _ = admit::parse(value);
            }
        }
        Input::Value(reply) => {
            let value = value(reply);
            let _ = complete::parse(&value);
            let _ = deduct::parse(value.clone());
            let _ = admit::parse(value);
        }
        Input::Answer(text) => {
            if let Some(response) = answer::unpack(text) {
                assert!(response.headers.iter().all(|(name, value)| !name.contains('\n') && !value.contains('\n')));
            }
        }
    }
});
