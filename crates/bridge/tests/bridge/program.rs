//! The binary: flags, log, signals.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{Redis, answer, free_port, send_signal, until};

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
        "healthz",
        "curl",
    ] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    assert!(!help.contains("s3cret"));
}
