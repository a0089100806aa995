//! A Redis Cluster of three masters on this machine.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_bridge::Config;

use crate::support::{Bridge, Redis, TOKEN, until};

const LIMIT: Duration = Duration::from_secs(30);

/// Three masters that share the slots.
pub struct Cluster {
    pub nodes: Vec<Redis>,
}

impl Cluster {
    pub async fn start() -> Self {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let node = Redis::start_with(|redis| {
                // The bus port need not be ten thousand higher, which might be past the last port.
                let bus = crate::support::free_port().to_string();
                let words = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "5000"];
                redis.more = words.map(str::to_owned).to_vec();
            });
            nodes.push(node.await);
        }
        for (index, node) in nodes.iter().enumerate() {
            let slots = [["0", "5460"], ["5461", "10922"], ["10923", "16383"]][index];
            node.cli(&["CLUSTER", "ADDSLOTSRANGE", slots[0], slots[1]]).await;
            let (port, bus) = (node.port.to_string(), node.more[3].clone());
            nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
        }
        let cluster = Self { nodes };
        for node in &cluster.nodes {
            until(LIMIT, "the cluster is complete", || async {
                let info = format!("{:?}", node.cli(&["CLUSTER", "INFO"]).await);
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            })
            .await;
        }
        cluster
    }

    pub async fn bridge(&self) -> Bridge {
        let url = format!("redis+cluster://127.0.0.1:{}", self.nodes[0].port);
        Bridge::of(Config::new(&url, TOKEN).unwrap()).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_find_their_master_and_pipelines_keep_their_order() {
    let cluster = Cluster::start().await;
    let bridge = cluster.bridge().await;
    let commands: Vec<Value> = (0..300)
        .map(|i| match i % 3 {
            0 => json!(["SET", format!("k{}", i / 3), i]),
            1 => json!(["INCR", format!("k{}", i / 3)]),
            _ => json!(["ECHO", i.to_string()]),
        })
        .collect();
    let (status, text) = bridge.post("/pipeline", &json!(commands).to_string()).await;
    assert_eq!(status, 200, "{text}");
    let items: Vec<Value> = serde_json::from_str(&text).unwrap();
    for (i, item) in items.iter().enumerate() {
        let expected = match i % 3 {
            0 => json!("OK"),
            1 => json!(i),
            _ => json!(i.to_string()),
        };
        assert_eq!(item["result"], expected);
    }
    for node in &cluster.nodes {
        assert!(matches!(node.cli(&["DBSIZE"]).await, redis::Value::Int(10..)), "every master has its share");
    }
    assert_eq!(bridge.command(r#"["DBSIZE"]"#).await, json!(100));
    assert_eq!(bridge.command(r#"["KEYS","k*"]"#).await.as_array().unwrap().len(), 100);
    let (_, text) =
        bridge.post("/pipeline", r#"[["SET","x",1],["FLUSHALL"],["DBSIZE"],["SET","y",1],["DBSIZE"]]"#).await;
    let expected = json!([{"result":"OK"},{"result":"OK"},{"result":0},{"result":"OK"},{"result":1}]);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    // Redis' errors hold bytes that are no text here too.
    assert_eq!(bridge.post("/get/%ff%fe/%ff", "").await.0, 400);
    assert_eq!(bridge.post("/%ff%fe/k", "").await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_several_slots_get_redis_own_error() {
    let cluster = Cluster::start().await;
    let bridge = cluster.bridge().await;
    let cross = "CROSSSLOT Keys in request don't hash to the same slot";
    assert_eq!(bridge.error(r#"["MSET","a",1,"b",2]"#).await, cross);
    assert_eq!(bridge.error(r#"["EVAL","return 1",2,"a","b"]"#).await, cross);
    let (status, text) = bridge.post("/multi-exec", r#"[["SET","a",1],["SET","b",2]]"#).await;
    assert_eq!((status, text), (400, json!({"error": cross}).to_string()));
    assert_eq!(bridge.command(r#"["MSET","{t}a",1,"{t}b",2]"#).await, json!("OK"));
    let (status, text) = bridge.post("/multi-exec", r#"[["INCR","{t}a"],["MGET","{t}a","{t}b"]]"#).await;
    assert_eq!((status, text.as_str()), (200, r#"[{"result":2},{"result":["2","2"]}]"#));
    let undeclared = bridge.error(r#"["EVAL","return redis.call('GET','b')",1,"a"]"#).await;
    assert!(undeclared.contains("non local key"), "{undeclared}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_are_known_on_every_master() {
    let cluster = Cluster::start().await;
    let bridge = cluster.bridge().await;
    let script = "#!lua flags=allow-key-locking\nreturn redis.call('INCR', KEYS[1])";
    let sha = bridge.command(&json!(["SCRIPT", "LOAD", script]).to_string()).await;
    for key in ["a", "b", "c", "d", "e"] {
        assert_eq!(bridge.command(&json!(["EVALSHA", sha, 1, key]).to_string()).await, json!(1));
    }
    bridge.command(r#"["SCRIPT","FLUSH"]"#).await;
    let evals: Vec<Value> = ["a", "b", "c", "d", "e"].iter().map(|key| json!(["EVALSHA", sha, 1, key])).collect();
    let (_, text) = bridge.post("/pipeline", &json!(evals).to_string()).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!(vec![json!({"result": 2}); 5]), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_is_followed() {
    let cluster = Cluster::start().await;
    let bridge = cluster.bridge().await;
    bridge.command(r#"["SET","foo","before"]"#).await;
    let (from, to) = (&cluster.nodes[2], &cluster.nodes[0]);
    let (from_id, to_id) = (id(from).await, id(to).await);
    to.cli(&["CLUSTER", "SETSLOT", "12182", "IMPORTING", &from_id]).await;
    from.cli(&["CLUSTER", "SETSLOT", "12182", "MIGRATING", &to_id]).await;
    // On its way: keys that are not at the old master are asked for at the new one.
    assert_eq!(bridge.command(r#"["SET","{foo}new","asked"]"#).await, json!("OK"));
    assert_eq!(bridge.command(r#"["GET","foo"]"#).await, json!("before"));
    from.cli(&["MIGRATE", "127.0.0.1", &to.port.to_string(), "foo", "0", "5000"]).await;
    let (_, text) = bridge.post("/pipeline", r#"[["GET","foo"],["SET","bar",1],["GET","{foo}new"]]"#).await;
    assert_eq!(text, r#"[{"result":"before"},{"result":"OK"},{"result":"asked"}]"#);
    for node in [to, from, &cluster.nodes[1]] {
        node.cli(&["CLUSTER", "SETSLOT", "12182", "NODE", &to_id]).await;
    }
    assert_eq!(bridge.command(r#"["APPEND","foo","!"]"#).await, json!(7));
    let (_, text) = bridge.post("/multi-exec", r#"[["GET","foo"],["STRLEN","foo"]]"#).await;
    assert_eq!(text, r#"[{"result":"before!"},{"result":7}]"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_dies_is_503_and_used_again_when_it_is_back() {
    let mut cluster = Cluster::start().await;
    let bridge = cluster.bridge().await;
    bridge.command(r#"["SET","foo","v"]"#).await;
    cluster.nodes[2].kill();
    until(LIMIT, "503 for its keys", || async { bridge.post("/", r#"["GET","foo"]"#).await.0 == 503 }).await;
    cluster.nodes[2].resume().await;
    until(LIMIT, "its keys are back", || async {
        bridge.post("/", r#"["GET","foo"]"#).await == (200, r#"{"result":"v"}"#.into())
    })
    .await;
}

async fn id(node: &Redis) -> String {
    redis::from_redis_value(node.cli(&["CLUSTER", "MYID"]).await).unwrap()
}
