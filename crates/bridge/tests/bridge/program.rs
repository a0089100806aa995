//! The binary: flags, log, signals.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{Redis, answer, free_port, send_signal, timed, until};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-bridge"));
    command.env_clear().stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn ended(child: &mut Child) -> (bool, String) {
    let mut status = None;
    for _ in 0..1000 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let status = status.unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("the bridge did not end")
    });
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    (status.success(), log)
}

#[tokio::test]
async fn it_serves_says_no_secrets_and_ends_on_a_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut redis = Redis::stopped();
        let port = free_port();
        let mut child = program()
            .args([
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--redis",
                &format!("redis://:hunter2@127.0.0.1:{}", redis.port),
            ])
            .env("SLUICE_BRIDGE_TOKEN", "s3cret")
            .env("RUST_LOG", "trace")
            .spawn()
            .unwrap();
        let http = reqwest::Client::new();
        let url = format!("http://127.0.0.1:{port}");
        until(Duration::from_secs(5), "health", || async { http.get(format!("{url}/healthz")).send().await.is_ok() })
            .await;
        let set = || http.post(&url).bearer_auth("s3cret").body(r#"["SET","k","private-value"]"#);
        assert_eq!(answer(set()).await.0, 503);
        redis.spawn();
        // A password that Redis does not ask for is refused by it: still 503, never a crash.
        let (status, _) = answer(set()).await;
        assert_eq!(status, 503);
        send_signal(child.id(), signal);
        let (success, log) = ended(&mut child).await;
        assert!(success, "{log}");
        assert!(log.contains("redis is not reachable") && log.contains("closed"), "{log}");
        for secret in ["hunter2", "s3cret", "private-value"] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}

#[tokio::test]
async fn mistakes_end_it_with_a_reason() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (arguments, reason) in [
        (vec!["--token", "t", "--listen", &address], address.as_str()),
        (vec!["--token", ""], "token is empty"),
        (vec![], "--token"),
        (vec!["--token", "t", "--redis", "nonsense"], "redis://host:port"),
        (vec!["--token", "t", "--command-timeout-ms", "0"], "command-timeout-ms"),
    ] {
        let mut child = program().args(&arguments).spawn().unwrap();
        let (success, log) = ended(&mut child).await;
        assert!(!success && log.contains(reason), "{arguments:?}: {log}");
    }
}

#[tokio::test]
async fn databases_come_from_the_environment_or_a_file_and_the_log_is_json() {
    let redis = Redis::start().await;
    let text =
        format!("[[database]]\nname = \"a\"\nredis = \"{}/4\"\n[[database.token]]\ntoken = \"s3cret\"\n", redis.url());
    let file = redis.folder.path().join("databases.toml");
    std::fs::write(&file, &text).unwrap();
    let sources = [("SLUICE_BRIDGE_DATABASES", text), ("SLUICE_BRIDGE_DATABASES_FILE", file.display().to_string())];
    for (name, value) in sources {
        let port = free_port();
        let mut child = program()
            .env(name, value)
            .env("SLUICE_BRIDGE_LISTEN", format!("127.0.0.1:{port}"))
            .env("SLUICE_BRIDGE_READ_ONLY_TOKEN", "r3ads")
            .env("SLUICE_BRIDGE_LOG", "json")
            .env("RUST_LOG", "sluice_bridge=trace")
            .spawn()
            .unwrap();
        let http = reqwest::Client::new();
        let url = format!("http://127.0.0.1:{port}");
        let set = |token| http.post(&url).bearer_auth(token).body(r#"["SET","private-key","private-value"]"#);
        until(Duration::from_secs(10), "it serves", || async {
            set("s3cret").send().await.is_ok_and(|response| response.status() == 200)
        })
        .await;
        assert_eq!(answer(set("r3ads")).await.0, 400);
        send_signal(child.id(), Signal::SIGTERM);
        let (success, log) = ended(&mut child).await;
        assert!(success, "{log}");
        for line in log.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
            assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
        }
        for secret in ["s3cret", "r3ads", "private"] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}

/// Requests under way get their answer, streams end, idle connections are closed, new ones are not taken.
#[tokio::test]
async fn a_signal_lets_what_is_under_way_finish() {
    let redis = Redis::start().await;
    let port = free_port();
    let mut child = program()
        .env("SLUICE_BRIDGE_TOKEN", "t")
        .env("SLUICE_BRIDGE_LISTEN", format!("127.0.0.1:{port}"))
        .env("SLUICE_BRIDGE_REDIS", redis.url())
        .env("SLUICE_BRIDGE_COMMAND_TIMEOUT_MS", "20000")
        .spawn()
        .unwrap();
    let (http, url) = (reqwest::Client::new(), format!("http://127.0.0.1:{port}"));
    let ask = |path: &str| http.post(format!("{url}{path}")).bearer_auth("t");
    until(Duration::from_secs(10), "it serves", || async {
        ask("/ping").send().await.is_ok_and(|response| response.status() == 200)
    })
    .await;
    let mut stream = ask("/subscribe/c").send().await.unwrap();
    stream.chunk().await.unwrap();
    let idle = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    redis.signal(Signal::SIGSTOP);
    let slow = tokio::spawn(answer(ask("/echo/late")));
    until(Duration::from_secs(10), "it waits for redis", || async {
        answer(http.get(format!("{url}/metrics")).bearer_auth("t")).await.1.contains("sluice_bridge_waiting 1")
    })
    .await;
    send_signal(child.id(), Signal::SIGTERM);
    until(Duration::from_secs(10), "no new clients", || async {
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err()
    })
    .await;
    redis.signal(Signal::SIGCONT);
    assert_eq!(slow.await.unwrap(), (200, r#"{"result":"late"}"#.into()));
    let (took, (success, log)) = timed(ended(&mut child)).await;
    assert!(success && took < Duration::from_secs(8), "{took:?} {log}");
    drop((stream, idle));
}

#[test]
fn help_names_every_option_and_its_environment_twin_but_no_secret() {
    let output = program().env("SLUICE_BRIDGE_TOKEN", "s3cret").arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for word in [
        "--listen",
        "SLUICE_BRIDGE_LISTEN",
        "--redis",
        "SLUICE_BRIDGE_REDIS",
        "--token",
        "SLUICE_BRIDGE_TOKEN",
        "SLUICE_BRIDGE_CONNECT_TIMEOUT_MS",
        "SLUICE_BRIDGE_COMMAND_TIMEOUT_MS",
        "SLUICE_BRIDGE_DATABASES",
        "SLUICE_BRIDGE_READ_ONLY_TOKEN",
        "SLUICE_BRIDGE_CHECK_KEYS",
        "SLUICE_BRIDGE_MAX_COMMANDS",
        "SLUICE_BRIDGE_MAX_REQUESTS",
        "SLUICE_BRIDGE_REDIS_CA",
        "healthz",
        "curl",
    ] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    assert!(!help.contains("s3cret"));
}
