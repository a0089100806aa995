//! The flags of `cargo xtask rush`.

use clap::Args;

/// What `cargo xtask rush` may be told.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How many users come. Every 20th has a forged order token, every 25th an expired one.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub users: u32,
    /// How many items there are, one for each user.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub stock: u64,
    /// How many requests are under way at once.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub concurrency: u16,
    /// Print one JSON object on stdout instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Start a stack of its own even when `cargo xtask dev` runs.
    #[arg(long)]
    pub own: bool,
}
