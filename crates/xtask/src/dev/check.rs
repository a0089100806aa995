//! `cargo xtask dev --check`: the printed lines, run as a newcomer would, and their answers looked at.

use super::{Lines, Options, builder, demo, ports, prepare};
use crate::console::{self, Step};
use crate::edge::Edge;
use crate::stack::Stack;
use crate::{clock, command};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// How long settling one order may take.
const SETTLE_LIMIT: Duration = Duration::from_secs(20);

/// Starts everything in a temporary folder, runs the lines twice, stops everything.
///
/// # Errors
/// When anything of that fails; the message shows what was answered.
pub fn run(options: &Options) -> Result<()> {
    ports::check(options)?;
    prepare()?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let step = Step::start("starting redis-server, bridge, origin, wrangler dev");
        let stack = builder(options).start().await?;
        step.done("done");
        let checked = lines_work(&stack).await;
        let logs = checked.is_err().then(|| stack.logs());
        tokio::task::spawn_blocking(move || drop(stack)).await?;
        checked.with_context(|| logs.unwrap_or_default())
    })
}

async fn lines_work(stack: &Stack) -> Result<()> {
    let lines = demo::open(stack).await?;
    let first = paste(&lines).await?;
    // A newcomer pastes again: that must buy one more, not fail.
    let second = paste(&lines).await?;
    ensure!(first != second, "pasting again gave the same order {first}");
    settled(stack, &second).await?;
    console::say("the printed lines work, also when pasted again, and the orders were settled");
    Ok(())
}

/// Runs the three lines in one shell and returns the id of the order.
async fn paste(lines: &Lines) -> Result<String> {
    let answers = shell(lines).await?;
    let [token, order, status] = answers.as_slice() else {
        bail!("three lines gave {} answers: {answers:?}", answers.len());
    };
    text(token, "token").context("first line")?;
    let id = text(order, "order_id").context("second line")?;
    let state = text(order, "status").context("second line")?;
    ensure!(state == "queued", "second line: {order}");
    ensure!(text(status, "order_id")? == id, "third line: {status}");
    ensure!(text(status, "sku")? == lines.sku(), "third line: {status}");
    text(status, "status").context("third line")?;
    Ok(id)
}

/// Waits until the order has left the queue.
async fn settled(stack: &Stack, id: &str) -> Result<()> {
    let edge = Edge::new(&stack.edge_url())?;
    let jwt = demo::jwt(stack)?;
    let deadline = clock::now() + SETTLE_LIMIT;
    loop {
        let state = edge.order_status(id, &jwt).await?;
        if state == "pending_payment" {
            return Ok(());
        }
        ensure!(clock::now() < deadline, "order {id} is still {state}");
        tokio::time::sleep(clock::POLL * 10).await;
    }
}

/// Runs the lines in one `sh` and returns what each printed.
async fn shell(lines: &Lines) -> Result<Vec<Value>> {
    let script = lines.all().map(|(_, line)| line).join("\n");
    let output = tokio::task::spawn_blocking(move || {
        let mut sh = Command::new("sh");
        // The stack is on this machine, whatever proxy this shell may have.
        sh.args(["-euc", &script]).env("no_proxy", "*");
        command::capture(&mut sh)
    });
    let output = output.await??;
    let answers =
        output.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not a JSON answer: {line}")));
    answers.collect()
}

fn text(answer: &Value, field: &str) -> Result<String> {
    let value = answer.get(field).and_then(Value::as_str);
    Ok(value.with_context(|| format!("no `{field}` in {answer}"))?.to_owned())
}
