//! `cargo xtask dev`: everything on one machine, with a demonstration sale and lines to paste.

mod check;
mod demo;
mod lines;
mod logs;
mod options;
mod ports;
mod state;

pub use check::run as check;
pub use lines::Lines;
pub use options::Options;
pub use state::{Running, running, secrets};

use crate::build::{self, Variant};
use crate::stack::{Builder, Output, Runner, Stack};
use crate::{clock, console, paths, tools};
use anyhow::Result;
use state::State;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Starts everything and runs until it is told to stop.
///
/// # Errors
/// When another `dev` runs, a port is taken, something cannot be installed, built or started, or stops by itself.
pub fn run(options: &Options) -> Result<()> {
    let state = State::open()?;
    if options.fresh {
        state.forget_data()?;
    }
    ports::check(options)?;
    prepare()?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(until_stopped(options, &state))
}

/// Installs and builds what is missing.
pub(crate) fn prepare() -> Result<()> {
    build::exclusive(|| {
        tools::ensure_apt("redis-server")?;
        tools::ensure_apt("curl")?;
        tools::ensure_wasm_target()?;
        tools::ensure_node_modules()?;
        build::services()?;
        let edge = build::edge(Variant::Fetch)?;
        console::say(&format!("edge: {}", edge.size.human()));
        Ok(())
    })
}

async fn until_stopped(options: &Options, state: &State) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let started = tokio::select! {
        started = start(options, state) => Some(started?),
        () = told(&mut interrupt, &mut terminate) => None,
    };
    if let Some((stack, lines)) = started {
        state.announce(&stack, lines.sku())?;
        console::result(&welcome(&stack, &lines));
        let outcome = tokio::select! {
            dead = first_to_die(&stack) => Err(dead),
            () = told(&mut interrupt, &mut terminate) => Ok(()),
        };
        state.withdraw();
        console::say("stopping");
        // Stopping waits for each process in turn; the drop of a stack is what does it.
        tokio::task::spawn_blocking(move || drop(stack)).await?;
        outcome?;
    }
    console::say("stopped; the data is kept in .dev (`cargo xtask dev --fresh` drops it)");
    Ok(())
}

async fn told(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => (),
        _ = terminate.recv() => (),
    }
}

async fn start(options: &Options, state: &State) -> Result<(Stack, Lines)> {
    console::say("starting redis-server, bridge, origin, wrangler dev …");
    let builder =
        builder(options).folder(paths::dev_state()).secrets(state.secrets()?).output(Output::Lines(logs::printer()));
    let begun = clock::now();
    let stack = builder.start().await?;
    let lines = demo::open(&stack).await?;
    console::say(&format!("started in {}", clock::human(begun.elapsed())));
    Ok((stack, lines))
}

/// What `dev` and its check have in common.
pub(crate) fn builder(options: &Options) -> Builder {
    let builder = Stack::builder().runner(Runner::Wrangler).ports(options.ports()).already_built();
    builder.origin_argument("--simulate-payments")
}

/// Returns when one of the processes has ended, with an error that shows its last words.
async fn first_to_die(stack: &Stack) -> anyhow::Error {
    loop {
        let dead = stack.processes().find(|(_, process)| !process.is_running());
        if let Some((part, process)) = dead {
            let tail = process.log_tail();
            return anyhow::anyhow!("{part} has stopped by itself; its last lines:\n{tail}");
        }
        tokio::time::sleep(clock::POLL * 5).await;
    }
}

fn welcome(stack: &Stack, lines: &Lines) -> String {
    let urls = [
        ("Worker", stack.edge_url()),
        ("origin", stack.origin_url()),
        ("origin, operators", stack.admin_url()),
        ("bridge", stack.bridge_url()),
        ("Redis", stack.redis_url()),
        ("SQL", stack.database_url()),
    ];
    let mut text = String::from("\n");
    for (name, url) in urls {
        text.push_str(&format!("  {name:<18} {url}\n"));
    }
    text.push_str(&format!("\nThe buyer's page, with user 42 signed in:\n\n  {}\n", lines.page()));
    text.push_str(&format!(
        "\nThe sale `{}` is open. Or paste these lines into a shell, one after another:\n",
        lines.sku()
    ));
    for (what, line) in lines.all() {
        text.push_str(&format!("\n# {what}\n{line}\n"));
    }
    text.push_str("\nA real rush: `cargo xtask rush`. Another user: `cargo xtask user ID`. Ctrl-C stops everything.");
    text
}
