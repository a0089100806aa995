//! Several databases, tokens that may not do everything, and scripts that are held to the same.

use serde_json::{Value, json};
use sluice_bridge::Config;

use crate::support::{Answer, Bridge, Redis, answer, error_of};

async fn with_tokens(redis: &Redis, change: impl FnOnce(&mut Config)) -> Bridge {
    let text = format!(
        r#"
        [[database]]
        name = "one"
        redis = "{url}/1"
        [[database.token]]
        token = "all"
        [[database.token]]
        token = "reads"
        read_only = true
        [[database.token]]
        token = "gate"
        prefix = "sl1:"
        commands = ["GET", "SET", "INCR", "EVAL", "EVALSHA", "SCRIPT|LOAD", "SORT", "XGROUP", "SUBSCRIBE"]
        [[database.token]]
        token = "prefix"
        prefix = "sl1:"
        [[database]]
        name = "two"
        redis = "{url}/2"
        [[database.token]]
        token = "other"
        "#,
        url = redis.url()
    );
    Bridge::with(redis, |config| {
        *config = Config::from_toml(&text).unwrap();
        change(config);
    })
    .await
}

async fn ask(bridge: &Bridge, token: &str, body: &Value) -> Answer {
    answer(bridge.http.post(&bridge.url).bearer_auth(token).body(body.to_string())).await
}

async fn passes(bridge: &Bridge, token: &str, body: Value) -> Value {
    let (status, text) = ask(bridge, token, &body).await;
    assert_eq!(status, 200, "{token} {body}: {text}");
    serde_json::from_str::<Value>(&text).unwrap()["result"].take()
}

async fn refused(bridge: &Bridge, token: &str, body: Value) -> String {
    let (status, text) = ask(bridge, token, &body).await;
    assert_eq!(status, 400, "{token} {body}: {text}");
    error_of(&text)
}

#[tokio::test]
async fn each_token_opens_its_own_database() {
    let redis = Redis::start().await;
    let bridge = with_tokens(&redis, |_| {}).await;
    passes(&bridge, "all", json!(["SET", "k", "one"])).await;
    passes(&bridge, "other", json!(["SET", "k", "two"])).await;
    assert_eq!(passes(&bridge, "reads", json!(["GET", "k"])).await, "one");
    assert_eq!(passes(&bridge, "other", json!(["GET", "k"])).await, "two");
    for wrong in ["", "al", "alll", "test-token"] {
        assert_eq!(ask(&bridge, wrong, &json!(["PING"])).await.0, 401, "{wrong}");
    }
}

#[tokio::test]
async fn a_token_that_reads_changes_nothing_not_even_by_a_script() {
    let redis = Redis::start().await;
    let bridge = with_tokens(&redis, |_| {}).await;
    passes(&bridge, "all", json!(["SET", "k", "v"])).await;
    let writes = "return redis.call('SET', KEYS[1], 'w')";
    let sha = passes(&bridge, "all", json!(["SCRIPT", "LOAD", writes])).await;
    for body in [
        json!(["SET", "k", "w"]),
        json!(["DEL", "k"]),
        json!(["GETDEL", "k"]),
        json!(["FLUSHALL"]),
        json!(["CONFIG", "SET", "maxmemory", "1"]),
        json!(["PUBLISH", "c", "m"]),
        json!(["SCRIPT", "FLUSH"]),
        json!(["FUNCTION", "FLUSH"]),
        json!(["ACL", "SETUSER", "x"]),
        json!(["NOSUCH"]),
    ] {
        let error = refused(&bridge, "reads", body.clone()).await;
        assert!(error.starts_with("NOPERM "), "{body}: {error}");
    }
    for body in [
        json!(["EVAL", writes, 1, "k"]),
        json!(["EVALSHA", sha, 1, "k"]),
        json!(["EVAL", "return redis.pcall('SET', KEYS[1], 'w')", 1, "k"]),
        json!(["EVAL", "return redis.call('PUBLISH', 'c', 'm')", 0]),
        json!(["EVAL", "#!lua flags=allow-key-locking\nreturn redis.call('SET', KEYS[1], 'w')", 1, "k"]),
    ] {
        let error = refused(&bridge, "reads", body.clone()).await;
        assert!(error.contains("not allowed from read-only scripts"), "{body}: {error}");
    }
    for path in ["/pipeline", "/multi-exec"] {
        let request = bridge.http.post(format!("{}{path}", bridge.url)).bearer_auth("reads");
        answer(request.body(json!([["GET", "k"], ["SET", "k", "w"], ["EVAL", writes, 1, "k"]]).to_string())).await;
    }
    assert_eq!(passes(&bridge, "reads", json!(["GET", "k"])).await, "v");
    assert_eq!(passes(&bridge, "reads", json!(["EVAL", "return redis.call('GET', KEYS[1])", 1, "k"])).await, "v");
    for body in [json!(["PING"]), json!(["SCAN", 0]), json!(["DBSIZE"]), json!(["PFCOUNT", "h"]), json!(["TIME"])] {
        passes(&bridge, "reads", body).await;
    }
}

#[tokio::test]
async fn a_prefix_and_a_list_hold_outside_and_inside_scripts() {
    let redis = Redis::start().await;
    let bridge = with_tokens(&redis, |_| {}).await;
    passes(&bridge, "gate", json!(["SET", "sl1:k", "v"])).await;
    passes(&bridge, "gate", json!(["XGROUP", "CREATE", "sl1:s", "g", "0", "MKSTREAM"])).await;
    for body in [
        json!(["SET", "k", "v"]),
        json!(["GETDEL", "sl1:k"]),
        json!(["FLUSHALL"]),
        json!(["SCRIPT", "FLUSH"]),
        json!(["SORT", "sl1:k", "BY", "x*"]),
        json!(["XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"]),
        json!(["EVAL", "return 1", 1, "k"]),
    ] {
        let error = refused(&bridge, "gate", body.clone()).await;
        assert!(error.starts_with("NOPERM "), "{body}: {error}");
    }
    let good = "local n = redis.call('INCR', KEYS[1])\nredis.call('set', KEYS[1] .. ':copy', n)\nreturn redis.call('GET', KEYS[1] .. ':copy')";
    assert_eq!(passes(&bridge, "gate", json!(["EVAL", good, 1, "sl1:n"])).await, "1");
    for (script, what) in [
        ("return redis.call('GET', 'k')", "'k'"),
        ("return redis.pcall('SET', 'k', 1)", "'k'"),
        ("return redis.call('DEL', KEYS[1])", "'del'"),
        ("return redis.call('FLUSHALL')", "'flushall'"),
        ("return _G.redis.call('FLUSHALL')", "'flushall'"),
        ("return _G._G.redis.call('FLUSHALL')", "'flushall'"),
        ("return rawget(_G, 'redis').call('FLUSHALL')", "'flushall'"),
        ("local t = {'set', 'k', 1} return redis.call(unpack(t))", "'k'"),
        ("return redis.call('sort', KEYS[1])", "cannot be known"),
        ("return redis.call('xgroup', 'create', 's', 'g', '0', 'mkstream')", "'s'"),
        ("return loadstring('return redis.call(\"flushall\")')()", "cannot load code"),
        ("return load(function() return nil end)()", "cannot load code"),
        (", _G.redis.call('FLUSHALL')", "unexpected symbol"),
        ("(_G.redis.call('FLUSHALL'))", "syntax error"),
        ("[_G.redis.call('FLUSHALL')] = 1", "unexpected symbol"),
        (".x", "unexpected symbol"),
        ("return getfenv(0).redis.call('FLUSHALL')", "cannot load code"),
        ("return coroutine.wrap(function() return redis.call('FLUSHALL') end)()", "'flushall'"),
        ("redis.call = nil", "readonly"),
        ("local m = getmetatable(redis) return m.__index.call('FLUSHALL')", "index"),
        ("local m = getmetatable(_G) return m.__index.redis.call('FLUSHALL')", "index"),
    ] {
        let error = refused(&bridge, "gate", json!(["EVAL", script, 1, "sl1:n"])).await;
        assert!(error.contains(what), "{script}: {error}");
    }
    // Redis knows this one already, from somebody who may run it unchecked.
    let sha = passes(&bridge, "all", json!(["SCRIPT", "LOAD", "return redis.call('FLUSHDB')"])).await;
    assert!(refused(&bridge, "gate", json!(["EVALSHA", sha, 0])).await.starts_with("NOSCRIPT "));
    let sha = passes(&bridge, "gate", json!(["SCRIPT", "LOAD", good])).await;
    assert_eq!(passes(&bridge, "gate", json!(["EVALSHA", sha, 1, "sl1:n"])).await, "2");
    assert!(refused(&bridge, "gate", json!(["EVALSHA", sha, 1, "n"])).await.starts_with("NOPERM "));
    assert_eq!(passes(&bridge, "all", json!(["EXISTS", "k", "s", "n"])).await, 0);
    assert_eq!(passes(&bridge, "prefix", json!(["MSET", "sl1:a", 1, "sl1:b", 2])).await, "OK");
    for body in
        [json!(["KEYS", "*"]), json!(["MSET", "sl1:a", 1, "b", 2]), json!(["FLUSHDB"]), json!(["PUBLISH", "c", "m"])]
    {
        assert!(refused(&bridge, "prefix", body).await.starts_with("NOPERM "));
    }
}

#[tokio::test]
async fn undeclared_keys_are_refused_by_name_when_the_flag_is_set() {
    let redis = Redis::start().await;
    let bridge = with_tokens(&redis, |config| config.check_keys = true).await;
    let good = "#!lua flags=allow-key-locking\n\
                redis.call('SET', KEYS[1], ARGV[1])\n\
                redis.call('ZUNIONSTORE', KEYS[2], 1, KEYS[3])\n\
                redis.call('XADD', KEYS[4], '*', 'f', 1.5)\n\
                return {redis.call('GET', KEYS[1]), redis.sha1hex(''), redis.LOG_WARNING, #KEYS}";
    let reply = passes(&bridge, "all", json!(["EVAL", good, 4, "a", "b", "c", "d", "v"])).await;
    assert_eq!(reply, json!(["v", "da39a3ee5e6b4b0d3255bfef95601890afd80709", 3, 4]));
    for (script, key) in [
        ("redis.call('GET', 'other')", "'other'"),
        ("redis.call('MSET', KEYS[1], 1, 'other', 2)", "'other'"),
        ("redis.call('ZUNIONSTORE', KEYS[1], 2, KEYS[1], 'other')", "'other'"),
        ("redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], 'other', '0', '0')", "'other'"),
        ("redis.call('OBJECT', 'ENCODING', 'other')", "'other'"),
        ("redis.call('GET', 17)", "'17'"),
        ("redis.call('LMPOP', 2, KEYS[1], 'other', 'LEFT')", "'other'"),
    ] {
        let error = refused(&bridge, "all", json!(["EVAL", script, 1, "a"])).await;
        assert!(error.starts_with("ERR undeclared key ") && error.contains(key), "{script}: {error}");
    }
    // Redis' own errors, and the lines they name, are those of the script as it was written.
    for (script, text) in [
        ("\n\nreturn redis.call('INCR', KEYS[1])", "value is not an integer"),
        ("\n\nreturn redis.call('NOSUCH')", "Unknown Redis command called from script"),
        ("\n\nreturn redis.call('GET', 'other')", "undeclared key 'other'"),
        ("\n\nreturn redis.call({})", "arguments must be strings or integers"),
        ("\n\nerror('here')", "user_script:3: here"),
        ("#!lua flags=no-writes\n\nreturn redis.call('SET', KEYS[1], 1)", "Write commands are not allowed"),
    ] {
        let error = refused(&bridge, "all", json!(["EVAL", script, 1, "a"])).await;
        assert!(error.contains(text) && error.contains("user_script:3"), "{script:?}: {error}");
    }
    let caught = "local r = redis.pcall('INCR', KEYS[1]) return r.err";
    assert_eq!(
        passes(&bridge, "all", json!(["EVAL", caught, 1, "a"])).await,
        "ERR value is not an integer or out of range"
    );
    let caught = "local ok, r = pcall(redis.call, 'INCR', KEYS[1]) redis.call('GET', KEYS[1]) return {tostring(ok), r}";
    let reply = passes(&bridge, "all", json!(["EVAL", caught, 1, "a"])).await;
    assert_eq!(reply, json!(["false", "ERR value is not an integer or out of range"]));
}

#[tokio::test]
async fn the_gateways_own_scripts_declare_their_keys() {
    let redis = Redis::start().await;
    let bridge = Bridge::with(&redis, |config| config.check_keys = true).await;
    let lua = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lua");
    for file in std::fs::read_dir(lua).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "lua") {
            let text = std::fs::read_to_string(&path).unwrap();
            let reply = bridge.command(&json!(["SCRIPT", "LOAD", text]).to_string()).await;
            assert_eq!(reply.as_str().map(str::len), Some(40), "{}", path.display());
        }
    }
}
