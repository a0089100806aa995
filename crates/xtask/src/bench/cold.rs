//! A new isolate: from the start of workerd to its listening, and the first order's way through it.

use super::contender::Contender::{self, Script, Sluice, Upstash};
use super::effort::Effort;
use super::field::Field;
use super::orders::{Order, Press};
use crate::clock;
use crate::console::Step;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SKU: &str = "cold";
const CONTENDERS: [Contender; 3] = [Sluice, Upstash, Script];
const LISTEN_LIMIT: Duration = Duration::from_secs(30);

/// One start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// From the start of the process until it listens, ms. The script is compiled by then.
    pub(super) listens_ms: f64,
    /// From the first byte of the first order to the first byte of its answer, ms.
    pub(super) first_ms: f64,
}

/// All starts of each contender.
pub(super) type Starts = BTreeMap<Contender, Vec<Start>>;

/// Starts each contender anew, in turns.
pub(super) async fn run(field: &mut Field, effort: Effort) -> Result<Starts> {
    let step = Step::start("cold");
    let folder = field.stack().folder().to_path_buf();
    let mut starts = Starts::new();
    for n in 0..effort.starts {
        for contender in CONTENDERS {
            step.note(&format!("start {}, {contender}", n + 1));
            field.open(SKU, 1_000).await?;
            let request = Press::new(field.stack().secrets(), &folder)?.one(SKU, Order::of(n))?;
            let start = start(field, contender, &request).await?;
            starts.entry(contender).or_default().push(start);
        }
    }
    step.done("done");
    Ok(starts)
}

async fn start(field: &Field, contender: Contender, request: &str) -> Result<Start> {
    let process = field.process(contender)?;
    let address = field.url(contender)?.replace("http://", "");
    process.stop();
    let started = clock::now();
    process.spawn()?;
    let mut socket = loop {
        match TcpStream::connect(&address).await {
            Ok(socket) => break socket,
            Err(error) => ensure!(
                process.is_running() && started.elapsed() < LISTEN_LIMIT,
                "{contender} does not listen: {error}\n{}",
                process.log_tail()
            ),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let listens = started.elapsed();
    let sent = clock::now();
    socket.write_all(request.as_bytes()).await?;
    let mut answer = [0; 4096];
    let length = socket.read(&mut answer).await?;
    let first = sent.elapsed();
    let text = String::from_utf8_lossy(answer.get(..length).context("more than fits")?).into_owned();
    ensure!(text.starts_with("HTTP/1.1 202"), "{contender} answers its first order with {text:?}");
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Start { listens_ms: ms(listens), first_ms: ms(first) })
}
