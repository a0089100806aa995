//! redis-server, the bridge and redis-benchmark.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What the bridge is opened with.
pub(crate) const TOKEN: &str = "bench";

/// Both servers; they end with this value.
pub(crate) struct Programs {
    redis: Child,
    bridge: Child,
    redis_port: u16,
    bridge_port: u16,
}

impl Programs {
    /// Starts both and waits until they answer.
    pub(crate) fn start() -> Self {
        let (redis_port, bridge_port) = (free_port(), free_port());
        let quiet = |command: &mut Command| {
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("redis-server and the bridge start")
        };
        let port = redis_port.to_string();
        let redis = quiet(Command::new("redis-server").args(["--port", &port, "--save", "", "--bind", "127.0.0.1"]));
        let bridge = quiet(
            Command::new(env!("CARGO_BIN_EXE_sluice-bridge"))
                .env("SLUICE_BRIDGE_LISTEN", format!("127.0.0.1:{bridge_port}"))
                .env("SLUICE_BRIDGE_REDIS", format!("redis://127.0.0.1:{redis_port}"))
                .env("SLUICE_BRIDGE_TOKEN", TOKEN),
        );
        let programs = Self { redis, bridge, redis_port, bridge_port };
        programs.wait();
        programs
    }

    fn wait(&self) {
        let answers = || {
            let url = format!("http://{}/healthz", self.bridge_address());
            let output = Command::new("curl").args(["-s", "--max-time", "1", &url]).output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("\"up\""))
        };
        assert!((0..100_000).any(|_| answers()), "the bridge does not answer");
    }

    /// Where the bridge listens.
    pub(crate) fn bridge_address(&self) -> String {
        format!("127.0.0.1:{}", self.bridge_port)
    }

    /// What redis-benchmark says: SETs per second over so many connections.
    pub(crate) fn redis_benchmark(&self, clients: usize, depth: usize, time: Duration) -> f64 {
        // It takes a count, not a time: one that takes about as long.
        let per_second = if depth > 1 { 700_000 } else { 60_000 };
        let count = per_second * time.as_secs();
        let words = [
            ["-p", &self.redis_port.to_string()],
            ["-c", &clients.to_string()],
            ["-P", &depth.to_string()],
            ["-n", &count.to_string()],
            ["-r", "100000"],
            ["-t", "set"],
        ];
        let output = Command::new("redis-benchmark").args(words.concat()).arg("--csv").output();
        let text = String::from_utf8(output.expect("redis-benchmark").stdout).expect("text");
        let row = text.lines().find(|line| line.starts_with("\"SET\"")).expect("a row for SET");
        row.split(',').nth(1).and_then(|field| field.trim_matches('"').parse().ok()).expect("a rate")
    }

    /// The bridge's resident memory.
    pub(crate) fn bridge_kilobytes(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.bridge.id())).expect("Linux' /proc");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for process in [&mut self.bridge, &mut self.redis] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
