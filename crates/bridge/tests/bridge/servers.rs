//! Kinds of servers: ACL users, a unix socket, TLS, sentinels.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::json;
use sluice_bridge::Config;
use sluice_bridge::config::TlsFiles;

use crate::support::{Bridge, Redis, TOKEN, free_port, until};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn an_acl_user_may_do_what_redis_lets_it() {
    let redis = Redis::start().await;
    let rule = ["ACL", "SETUSER", "bridge", "on", ">p%w", "resetchannels", "~sl1:*", "+@all", "-@admin", "-@dangerous"];
    redis.cli(&rule).await;
    let url = format!("redis://bridge:p%25w@127.0.0.1:{}/3", redis.port);
    let bridge = Bridge::of(Config::new(&url, TOKEN).unwrap()).await;
    assert_eq!(bridge.command(r#"["SET","sl1:k","v"]"#).await, json!("OK"));
    assert!(bridge.error(r#"["SET","k","v"]"#).await.starts_with("NOPERM "));
    assert!(bridge.error(r#"["FLUSHALL"]"#).await.starts_with("NOPERM "));
    assert!(bridge.error(r#"["EVAL","return redis.call('SET', 'k', 1)",0]"#).await.contains("can't access"));
    assert_eq!(bridge.post("/multi-exec", r#"[["GET","sl1:k"]]"#).await.1, r#"[{"result":"v"}]"#);
}

/// Redis goes on with the commands of a transaction when it refuses MULTI: once that is seen, none is sent.
#[tokio::test]
async fn a_permission_for_multi_that_is_taken_away_is_noticed() {
    let redis = Redis::start().await;
    redis.cli(&["ACL", "SETUSER", "u", "on", ">p", "~*", "&*", "+@all"]).await;
    let url = format!("redis://u:p@127.0.0.1:{}", redis.port);
    let bridge = Bridge::of(Config::new(&url, TOKEN).unwrap()).await;
    assert_eq!(bridge.post("/multi-exec", r#"[["SET","a",1]]"#).await.0, 200);
    redis.cli(&["ACL", "SETUSER", "u", "-multi"]).await;
    for key in ["b", "c", "d"] {
        let (status, text) = bridge.post("/multi-exec", &format!(r#"[["SET","{key}",1]]"#)).await;
        assert!(status == 400 && text.contains("NOPERM"), "{status} {text}");
    }
    assert_eq!(bridge.command(r#"["EXISTS","c","d"]"#).await, json!(0));
}

#[tokio::test]
async fn a_unix_socket_serves_as_well() {
    let path = |folder: &Path| folder.join("redis.sock");
    let redis = Redis::start_with(|redis| {
        let socket = path(redis.folder.path()).to_string_lossy().into_owned();
        redis.more = ["--unixsocket", &socket].map(str::to_owned).to_vec();
    })
    .await;
    let url = format!("unix://{}?db=1", path(redis.folder.path()).display());
    let bridge = Bridge::of(Config::new(&url, TOKEN).unwrap()).await;
    assert_eq!(bridge.command(r#"["SET","k","v"]"#).await, json!("OK"));
    let (status, text) = bridge.post("/multi-exec", r#"[["GET","k"],["DBSIZE"]]"#).await;
    assert_eq!((status, text.as_str()), (200, r#"[{"result":"v"},{"result":1}]"#));
}

/// A CA, a server certificate for 127.0.0.1 and one for the client, as files.
struct Certificates {
    ca: PathBuf,
    cert: PathBuf,
    key: PathBuf,
}

fn certificates(folder: &Path) -> Certificates {
    let ca_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "a CA for one test");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(params, ca_key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    Certificates {
        ca: write("ca.pem", ca.pem()),
        cert: write("cert.pem", certificate.pem()),
        key: write("key.pem", key.serialize_pem()),
    }
}

#[tokio::test]
async fn tls_checks_both_sides() {
    let port = free_port();
    let redis = Redis::start_with(|redis| {
        let files = certificates(redis.folder.path());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        redis.more = vec![
            "--tls-port".into(),
            port.to_string(),
            "--tls-cert-file".into(),
            text(&files.cert),
            "--tls-key-file".into(),
            text(&files.key),
            "--tls-ca-cert-file".into(),
            text(&files.ca),
        ];
    })
    .await;
    let file = |name: &str| Some(redis.folder.path().join(name));
    let url = format!("rediss://127.0.0.1:{port}");
    let both = TlsFiles { ca: file("ca.pem"), cert: file("cert.pem"), key: file("key.pem") };
    let bridge = Bridge::of(Config::with_tls(&url, TOKEN, &both).unwrap()).await;
    assert_eq!(bridge.command(r#"["SET","k","v"]"#).await, json!("OK"));
    assert_eq!(bridge.command(r#"["GET","k"]"#).await, json!("v"));
    // Redis asks for a certificate; the system's roots did not sign Redis'.
    let nameless = TlsFiles { cert: None, key: None, ..both.clone() };
    let bridge = Bridge::of(Config::with_tls(&url, TOKEN, &nameless).unwrap()).await;
    assert_eq!(bridge.post("/", r#"["PING"]"#).await.0, 503);
    let other = certificates(tempfile::tempdir().unwrap().keep().as_path());
    let stranger = TlsFiles { ca: Some(other.ca), ..both };
    let bridge = Bridge::of(Config::with_tls(&url, TOKEN, &stranger).unwrap()).await;
    assert_eq!(bridge.post("/", r#"["PING"]"#).await.0, 503);
    let error = Config::with_tls(&url, TOKEN, &TlsFiles { ca: file("none.pem"), ..TlsFiles::default() }).unwrap_err();
    assert!(error.to_string().contains("none.pem"), "{error}");
}

/// A sentinel that watches one master.
struct Sentinel {
    port: u16,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Sentinel {
    fn start(master: &Redis) -> Self {
        let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
        let file = folder.path().join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor shop 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds shop 1000\nsentinel failover-timeout shop 5000\n",
            folder.path().display(),
            master.port
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new("redis-server");
        let process = command.arg(&file).arg("--sentinel").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { port, process, _folder: folder }
    }

    async fn knows_a_replica(&self) -> bool {
        let ask = async {
            let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).ok()?;
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            let replicas: Vec<redis::Value> =
                redis::cmd("SENTINEL").arg("REPLICAS").arg("shop").query_async(&mut connection).await.ok()?;
            Some(format!("{replicas:?}").contains("slave-repl-offset") && !replicas.is_empty())
        };
        ask.await.unwrap_or_default()
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_master_that_sentinels_name_is_used_and_followed() {
    let mut master = Redis::start().await;
    let replica = Redis::start().await;
    replica.cli(&["REPLICAOF", "127.0.0.1", &master.port.to_string()]).await;
    let sentinel = Sentinel::start(&master);
    until(LIMIT, "the sentinel knows the replica", || sentinel.knows_a_replica()).await;
    let dead = free_port();
    let url = format!("redis+sentinel://127.0.0.1:{dead},127.0.0.1:{}/shop/0", sentinel.port);
    let bridge = Bridge::of(Config::new(&url, TOKEN).unwrap()).await;
    assert_eq!(bridge.command(r#"["SET","k","v"]"#).await, json!("OK"));
    assert_eq!(bridge.command(r#"["ROLE"]"#).await[0], json!("master"));
    until(LIMIT, "the replica has the key", || async { replica.cli(&["EXISTS", "k"]).await == redis::Value::Int(1) })
        .await;
    master.kill();
    until(LIMIT, "the replica became the master", || async { bridge.post("/", r#"["SET","l","v"]"#).await.0 == 200 })
        .await;
    assert_eq!(bridge.command(r#"["MGET","k","l"]"#).await, json!(["v", "v"]));
    let unknown = Bridge::of(Config::new(&url.replace("shop", "other"), TOKEN).unwrap()).await;
    assert_eq!(unknown.post("/", r#"["PING"]"#).await.0, 503);
}
