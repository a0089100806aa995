//! A redis-server of one's own, and scripts run on it as the gate would run them.

use redis::Value as RedisValue;
use sluice::script::admit::{self, Call};
use sluice_upstash::{Arg, Script, Value};
use xtask::stack::{AppendFsync, Part, Stack};

use crate::mode::{Redis, stack};

/// A Redis that stops when it is dropped.
pub(crate) async fn redis_only() -> Stack {
    stack().only(&[Part::Redis]).appendfsync(AppendFsync::No).already_built().start().await.unwrap()
}

/// A connection to the stack's Redis.
pub(crate) fn connect(stack: &Stack) -> Redis {
    Redis::of(stack)
}

/// Runs a script by its source.
pub(crate) fn eval(redis: &mut Redis, script: &Script, keys: &[String], args: &[Arg<'_>]) -> Value {
    let mut command = redis::cmd("EVAL");
    command.arg(script.source()).arg(keys.len()).arg(keys);
    for arg in args {
        match arg {
            Arg::Str(text) => command.arg(*text),
            Arg::Int(number) => command.arg(*number),
        };
    }
    value(command.query(redis).unwrap())
}

/// Runs `lua/admit.lua`: its whole reply.
pub(crate) fn reply(redis: &mut Redis, call: &Call) -> admit::Reply {
    let reply = eval(redis, &admit::SCRIPT, &call.keys(), &call.args());
    admit::parse(reply).unwrap()
}

/// Runs `lua/admit.lua`: its verdict.
pub(crate) fn admit(redis: &mut Redis, call: &Call) -> sluice::admit::Verdict {
    reply(redis, call).verdict
}

fn value(reply: RedisValue) -> Value {
    match reply {
        RedisValue::Nil => Value::Null,
        RedisValue::Int(n) => Value::Int(n),
        RedisValue::BulkString(bytes) => Value::Str(String::from_utf8(bytes).unwrap()),
        RedisValue::SimpleString(text) => Value::Str(text),
        RedisValue::Okay => Value::Str("OK".to_owned()),
        RedisValue::Array(items) => Value::Array(items.into_iter().map(value).collect()),
        other => panic!("no script of ours replies {other:?}"),
    }
}

/// Every key with its time to live in ms (negative: none).
pub(crate) fn ttls(redis: &mut Redis) -> Vec<(String, i64)> {
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(redis).unwrap();
    let mut ttl = |key: String| {
        let ms = redis::cmd("PTTL").arg(&key).query(redis).unwrap();
        (key, ms)
    };
    // One that ended since it was listed is gone, which is not the same as being kept for ever.
    keys.into_iter().map(&mut ttl).filter(|(_, ms)| *ms != -2).collect()
}

/// A reply as the REST protocol writes it.
pub(crate) fn json(reply: &RedisValue) -> serde_json::Value {
    match reply {
        RedisValue::Nil => serde_json::Value::Null,
        RedisValue::Int(n) => (*n).into(),
        RedisValue::BulkString(bytes) => String::from_utf8_lossy(bytes).into(),
        RedisValue::SimpleString(text) => text.clone().into(),
        RedisValue::Okay => "OK".into(),
        RedisValue::Array(items) => items.iter().map(json).collect(),
        other => panic!("no script of ours replies {other:?}"),
    }
}
