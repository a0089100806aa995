//! `cargo xtask rush`: a flash sale as load, and afterwards the books are checked.

mod audit;
mod books;
mod click;
mod invariants;
mod options;
mod plan;
mod report;
mod shopper;
mod tally;
mod target;

pub use options::Options;

use crate::clock;
use crate::console;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use shopper::{Shop, shop};
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;
use target::Target;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Runs the sale and says whether every invariant holds.
///
/// # Errors
/// When the stack cannot be started or asked. A broken invariant is no error but `false`.
pub fn run(options: &Options) -> Result<bool> {
    tokio::runtime::Runtime::new()?.block_on(rush(options))
}

async fn rush(options: &Options) -> Result<bool> {
    let target = Target::find_or_start(options).await?;
    let outcome = sale(options, &target).await;
    let logs = outcome.is_err().then(|| target.logs());
    tokio::task::spawn_blocking(move || drop(target)).await?;
    outcome.with_context(|| logs.unwrap_or_default())
}

async fn sale(options: &Options, target: &Target) -> Result<bool> {
    let sku = target.open_sale(options.stock).await?;
    let begun = clock::now();
    let tally = load(options, target, &sku).await?;
    let took = begun.elapsed();
    let books = audit::when_settled(target, &sku, &tally).await?;
    let verdict = invariants::check(options.stock, &tally, &books);
    let report = report::Report::new(&tally, &books, &verdict, took);
    if options.json {
        console::result(&serde_json::to_string(&report)?);
    } else {
        console::result(&report.table());
    }
    for broken in &verdict.broken {
        console::say(&format!("{} {broken}", console::paint(31, "broken:")));
    }
    Ok(verdict.broken.is_empty())
}

/// All users at once; so many requests at a time as `concurrency` says.
async fn load(options: &Options, target: &Target, sku: &str) -> Result<Tally> {
    let slots = Arc::new(Semaphore::new(usize::from(options.concurrency)));
    let shop_for = Arc::new(Shop::new(target, sku, slots)?);
    let bar = progress(options.users);
    let mut users = JoinSet::new();
    for shopper in plan::shoppers(options.users) {
        users.spawn(shop(Arc::clone(&shop_for), shopper));
    }
    let mut tally = Tally::new();
    while let Some(done) = users.join_next().await {
        tally.add(&done?);
        bar.set_message(tally.progress());
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(tally)
}

/// A bar on stderr when that is a terminal.
fn progress(users: u32) -> ProgressBar {
    let bar = ProgressBar::new(users.into());
    if let Ok(style) = ProgressStyle::with_template("{elapsed} {wide_bar} {pos}/{len} users  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
